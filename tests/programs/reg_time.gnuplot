# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
# gnuplot -e "table='reg_time.txt'; picture='reg_time.png'" reg_time.gnuplot
set terminal pngcairo size 900,540
set output picture
set title "Time to register memory"
set xlabel "bytes"
set ylabel "microseconds (median)"
set logscale x 2
set logscale y 10
set format x "%.0b%B"
set xtics 4096, 8
set xrange [4096:2**30]
set grid
set key top left
plot table using 1:2 with linespoints title "ibv\\_reg\\_mr", \
     table using 1:3 with linespoints title "ibv\\_dereg\\_mr"
