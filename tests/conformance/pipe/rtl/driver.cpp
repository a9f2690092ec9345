// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
// The program between `rocedrill drill --pipe` and the core: it reads one JSON request a line and
// writes one reply (replay/docs/drill.md). core.hpp has all that depends on the core.
#include <arpa/inet.h>
#include <cstring>
#include <jansson.h>
#include <memory>
#include <string>
#include "core.hpp"
#include "verilated.h"

static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
static const char *const statuses[] = {"success", "local-length", "local-qp-operation",
                                       "local-protection", "flushed"};
static const char *const events[] = {"communication-established", "qp-request-error",
                                     "qp-access-error"};
// Needs of drills that the core meets.
static const char *const capabilities[] = {"credits", "exact-time", "zero-based"};

// ---- JSON
// --------------------------------------------------------------------------------------------

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value ? value : "";
}

static uint64_t number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static Bytes bytes(const json_t *object, const char *name)
{
    const char *hex = text(object, name);
    Bytes out(strlen(hex) / 2);

    for (size_t i = 0; i < out.size(); i++)
        out[i] = (uint8_t)std::stoi(std::string(hex + 2 * i, 2), nullptr, 16);
    return out;
}

static json_t *hex(const uint8_t *data, size_t len)
{
    std::string out;
    char digits[3];

    for (size_t i = 0; i < len; i++) {
        snprintf(digits, sizeof(digits), "%02x", data[i]);
        out += digits;
    }
    return json_string(out.c_str());
}

// Returns an IP address of 16 bytes.
static Bytes address(const json_t *object, const char *name)
{
    std::string addr = text(object, name);
    Bytes out(16);

    if (addr.find(':') == std::string::npos)
        addr = "::ffff:" + addr;
    inet_pton(AF_INET6, addr.c_str(), out.data());
    return out;
}

static json_t *ok()
{
    return json_pack("{s:b}", "ok", 1);
}
static json_t *refused(const char *error)
{
    return json_pack("{s:b, s:s}", "ok", 0, "error", error);
}
static json_t *unsupported(const char *what)
{
    return json_pack("{s:s}", "unsupported", what);
}

// ---- the driver
// --------------------------------------------------------------------------------------

struct Qp {
    std::string name;
    std::vector<uint64_t> ids; // of its receives since RESET
};

struct Region {
    unsigned mr;
    uint64_t address;
};

struct Receive {
    unsigned mr;
    uint64_t offset;
};

class Driver
{
  public:
    json_t *reply_to(const json_t *request);

  private:
    std::unique_ptr<Core> core;
    std::map<std::string, Region> regions;
    std::vector<Qp> qps;
    std::map<uint64_t, Receive> receives; // by id, which is unique in a drill
    uint64_t recv_used = 0; // bytes of the region of receives for which a drill names none

    static const uint64_t RECV_LEN = 1 << 22, RECV_ADDRESS = 0x7E0000000000;

    json_t *open(const json_t *request);
    void add_qp(const json_t *row, const json_t *net);
    json_t *verb(const json_t *request);
    json_t *post(unsigned qp, const json_t *request);
    json_t *modify(unsigned qp, const json_t *request);
    json_t *read(unsigned mr, uint64_t offset, uint64_t len);
    void add_output(json_t *reply);

    // Returns the index of a QP, or QPS.
    unsigned qp_of(const char *name) const
    {
        for (unsigned i = 0; i < qps.size(); i++)
            if (qps[i].name == name)
                return i;
        return Core::QPS;
    }
};

static QpState state_of(const char *name)
{
    unsigned state = RESET;

    while (state < ERR && strcmp(states[state], name) != 0)
        state++;
    return (QpState)state;
}

// Returns what a drill needs and the core lacks, or NULL.
static const char *missing(const json_t *request)
{
    unsigned qps = 0, mrs = 1;
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(request, "needs"), i, row)
    {
        bool has = false;

        for (const char *capability : capabilities)
            has |= strcmp(json_string_value(row), capability) == 0;
        if (!has)
            return json_string_value(row);
    }
    json_array_foreach(json_object_get(request, "objects"), i, row)
    {
        std::string kind = text(row, "kind");

        qps += kind == "qp";
        mrs += kind == "mr";
        if (kind == "qp" && strcmp(text(row, "service"), "rc") != 0)
            return text(row, "service");
        if ((kind == "qp" && state_of(text(row, "state")) > RTS) ||
            (kind != "qp" && kind != "mr" && kind != "peer"))
            return text(row, "kind");
    }
    return qps > Core::QPS || mrs > Core::MRS ? "room for these objects" : NULL;
}

void Driver::add_qp(const json_t *row, const json_t *net)
{
    unsigned qp = (unsigned)qps.size(), last = state_of(text(row, "state"));
    const QpValues values = {number(row, "access"),    number(row, "pkey"),
                             number(row, "tclass"),    number(row, "hop-limit"),
                             number(row, "peer-qpn"),  number(row, "peer-psn"),
                             number(row, "rnr-timer"), number(row, "mtu"),
                             bytes(net, "peer-mac"),   address(net, "peer-addr")};

    core->set_qp(qp, values);
    for (unsigned state = RESET; state <= last; state++)
        core->set_state(qp, (QpState)state);
    qps.push_back({text(row, "name"), {}});
}

json_t *Driver::open(const json_t *request)
{
    const char *lacking = missing(request);
    json_t *objects = json_object();
    const json_t *row;
    size_t i;

    if (lacking)
        return unsupported(lacking);
    core.reset(new Core(bytes(request, "mac"), address(request, "addr")));
    regions[""] = {0, RECV_ADDRESS};
    core->set_region(0, RECV_ADDRESS, LOCAL_WRITE, Bytes(RECV_LEN));
    json_array_foreach(json_object_get(request, "objects"), i, row)
    {
        const char *name = text(row, "name"), *kind = text(row, "kind");

        if (strcmp(kind, "mr") == 0) {
            unsigned mr = (unsigned)regions.size();

            regions[name] = {mr, number(row, "address")};
            core->set_region(mr, regions[name].address, number(row, "access"), bytes(row, "bytes"));
            json_object_set_new(objects, name,
                                json_pack("{s:I, s:i}", "address",
                                          (json_int_t)regions[name].address, "key",
                                          (int)Core::key(mr)));
        } else if (strcmp(kind, "qp") == 0) {
            json_object_set_new(objects, name,
                                json_pack("{s:i}", "number", (int)Core::qpn((unsigned)qps.size())));
            add_qp(row, request);
        }
    }
    return json_pack("{s:b, s:o}", "ok", 1, "objects", objects);
}

json_t *Driver::post(unsigned qp, const json_t *request)
{
    const json_t *to = json_object_get(request, "to");
    const Region &region = regions[text(to, "object")];
    uint64_t offset = to ? number(to, "offset") : recv_used, len = number(request, "len");

    if (core->state(qp) == RESET)
        return refused("state");
    if (!to)
        recv_used += len;
    receives[number(request, "id")] = {region.mr, offset};
    qps[qp].ids.push_back(number(request, "id"));
    core->post_receive(qp, region.mr, region.address + offset, (uint32_t)len);
    return ok();
}

json_t *Driver::modify(unsigned qp, const json_t *request)
{
    QpState from = core->state(qp), to = state_of(text(request, "state"));

    if (json_object_size(request) != 5 || to == SQD || to == SQE) // op, verb, object, at, state
        return unsupported("modify");
    if (to != RESET && !(to == ERR && from != RESET) && to != from + 1 &&
        !(to == from && to != RTR))
        return refused("state");
    if (to == RESET)
        qps[qp].ids.clear();
    if (to != from)
        core->set_state(qp, to);
    return ok();
}

json_t *Driver::verb(const json_t *request)
{
    const char *name = text(request, "object");
    std::string verb = text(request, "verb");
    unsigned qp = qp_of(name);

    if (qp != Core::QPS && verb == "recv")
        return post(qp, request);
    if (qp != Core::QPS && verb == "modify")
        return modify(qp, request);
    if (regions.count(name) && verb == "destroy") {
        core->remove_region(regions[name].mr);
        return ok();
    }
    if (regions.count(name) && verb == "store") {
        Bytes data = bytes(request, "bytes"), &memory = core->region(regions[name].mr);
        uint64_t offset = number(request, "offset");

        if (offset + data.size() > memory.size())
            return refused("invalid");
        std::copy(data.begin(), data.end(), memory.begin() + (long)offset);
        return ok();
    }
    return unsupported(verb.c_str());
}

json_t *Driver::read(unsigned mr, uint64_t offset, uint64_t len)
{
    const Bytes &memory = core->region(mr);

    if (offset > memory.size() || len > memory.size() - offset)
        return refused("invalid");
    return json_pack("{s:b, s:o}", "ok", 1, "bytes", hex(memory.data() + offset, len));
}

// Moves what the core did to a reply.
void Driver::add_output(json_t *reply)
{
    json_t *frames = json_array(), *comps = json_array(), *asyncs = json_array();

    for (const Bytes &frame : core->frames)
        json_array_append_new(frames, hex(frame.data(), frame.size()));
    for (const Completion &comp : core->completions) {
        json_t *row = json_pack("{s:s, s:b, s:I, s:s, s:I}", "qp", qps[comp.qp].name.c_str(),
                                "recv", 1, "id", (json_int_t)qps[comp.qp].ids.at(comp.receive),
                                "status", statuses[comp.status], "len", (json_int_t)comp.len);

        if (comp.has_imm && comp.status == SUCCESS)
            json_object_set_new(row, "imm", json_integer(comp.imm));
        json_array_append_new(comps, row);
    }
    for (const Event &event : core->events)
        if (event.code == UNSUPPORTED)
            json_object_set_new(reply, "unsupported", json_string("READ and atomic operations"));
        else
            json_array_append_new(asyncs, json_pack("{s:s, s:s}", "event", events[event.code],
                                                    "object", qps[event.qp].name.c_str()));
    json_object_set_new(reply, "frames", frames);
    json_object_set_new(reply, "comps", comps);
    json_object_set_new(reply, "events", asyncs);
    core->frames.clear();
    core->completions.clear();
    core->events.clear();
}

json_t *Driver::reply_to(const json_t *request)
{
    const char *object = text(request, "object");
    std::string op = text(request, "op");
    uint64_t id = number(request, "id"), offset = number(request, "offset"),
             len = number(request, "len");
    unsigned qp = qp_of(object);
    json_t *reply;

    if (op == "open")
        reply = open(request);
    else if (core && op == "frame")
        core->frame(bytes(request, "hex")), reply = ok();
    else if (core && op == "verb")
        reply = verb(request);
    else if (qp != Core::QPS && op == "state")
        reply = json_pack("{s:b, s:s}", "ok", 1, "state", states[core->state(qp)]);
    else if (core && op == "read" && regions.count(object))
        reply = read(regions[object].mr, offset, len);
    else if (core && op == "read-recv" && receives.count(id))
        reply = read(receives[id].mr, receives[id].offset + offset, len);
    else
        return op == "tick" ? ok() : refused("invalid");
    if (core) {
        core->run();
        add_output(reply);
    }
    return reply;
}

int main(int argc, char **argv)
{
    static char line[1 << 24];
    Driver driver;

    Verilated::commandArgs(argc, argv);
    while (fgets(line, sizeof(line), stdin)) {
        json_t *request = json_loads(line, 0, NULL), *reply = driver.reply_to(request);

        json_dumpf(reply, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(request);
        json_decref(reply);
    }
    return 0;
}
