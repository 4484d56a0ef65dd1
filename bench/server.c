/*
 * The MCP server that every contender of the benchmark talks to: stdio only, both eras, next to no cost of its own.
 * It is not an example of a server: it trusts its input, knows five tools, and keeps one line and one answer in memory.
 *
 *   server [N]     N tools in tools/list (default 5; the first five are real, the rest are padding to list)
 *
 * Tools: echo {text}; add {a, b}; big {size}: one text of that many characters on one line, a newline every 80;
 * flood {n}: n log notifications, then the answer; lists {}: how often tools/list was really asked for.
 * Answers to all the lines of one read are written with one write, so 64 calls in flight cost few system calls.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes { char *at; size_t len, cap; };
struct span { const char *at; size_t len; };

static struct bytes out, tools;
static int legacy;                 /* set by initialize: answers carry no resultType then */
static long lists;

static void grow(struct bytes *b, size_t more) {
    if (b->len + more <= b->cap) return;
    while (b->cap < b->len + more) b->cap = b->cap ? b->cap * 2 : 65536;
    b->at = realloc(b->at, b->cap);
    if (!b->at) { perror("realloc"); exit(1); }
}
static void put(struct bytes *b, const char *at, size_t len) { grow(b, len); memcpy(b->at + b->len, at, len); b->len += len; }
static void puts_to(struct bytes *b, const char *text) { put(b, text, strlen(text)); }

static void flush_out(void) {
    size_t done = 0;
    while (done < out.len) {
        ssize_t n = write(1, out.at + done, out.len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) exit(0);        /* the client is gone */
        done += (size_t)n;
    }
    out.len = 0;
}

/* --- as much JSON as a request needs ------------------------------------------------------------------------------ */

static const char *blank(const char *p) { while (*p == ' ' || *p == '\t' || *p == '\r') p++; return p; }

static const char *skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++) if (*p == '\\' && p[1]) p++;
    return *p ? p + 1 : p;
}
static const char *skip_value(const char *p) {
    p = blank(p);
    if (*p == '"') return skip_string(p);
    if (*p == '{' || *p == '[') {
        int depth = 0;
        while (*p) {
            if (*p == '"') { p = skip_string(p); continue; }
            if (*p == '{' || *p == '[') depth++;
            if (*p == '}' || *p == ']') if (--depth == 0) return p + 1;
            p++;
        }
        return p;
    }
    while (*p && *p != ',' && *p != '}' && *p != ']' && *p != ' ') p++;
    return p;
}
/* The raw value of one member of an object; length 0 where there is none. */
static struct span member(struct span object, const char *key) {
    struct span none = {"", 0};
    const char *p = blank(object.at);
    size_t key_len = strlen(key);
    if (object.len == 0 || *p != '{') return none;
    for (p = blank(p + 1); *p == '"'; p = blank(p + 1)) {
        const char *name = p + 1, *end = skip_string(p), *value, *after;
        value = blank(blank(end) + 1);
        after = skip_value(value);
        if ((size_t)(end - 1 - name) == key_len && !memcmp(name, key, key_len)) return (struct span){value, (size_t)(after - value)};
        p = blank(after);
        if (*p != ',') break;
    }
    return none;
}
static int is(struct span s, const char *quoted) { return s.len == strlen(quoted) && !memcmp(s.at, quoted, s.len); }

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void open_result(struct span id) {
    puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(&out, id.at, id.len);
    puts_to(&out, legacy ? ",\"result\":{" : ",\"result\":{\"resultType\":\"complete\",");
}
static void close_result(void) { puts_to(&out, "}}\n"); }

static void text_result(struct span id, const char *json_string, size_t len) {
    open_result(id);
    puts_to(&out, "\"content\":[{\"type\":\"text\",\"text\":");
    put(&out, json_string, len);
    puts_to(&out, "}],\"isError\":false");
    close_result();
}
static void failure(struct span id, int code, const char *message) {
    char tail[200];
    puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
    put(&out, id.at, id.len);
    put(&out, tail, (size_t)snprintf(tail, sizeof tail, ",\"error\":{\"code\":%d,\"message\":\"%s\"}}\n", code, message));
}
static void big(struct span id, long size) {
    static const char text[] = "The quick brown fox jumps over the lazy dog, and packs my box with five dozen..";   /* 79 */
    static struct bytes made;
    static long made_size = -1;
    if (size != made_size) {
        made.len = 0;
        put(&made, "\"", 1);
        for (long left = size; left > 0; left -= 80) {
            put(&made, text, left < 79 ? (size_t)left : 79);
            if (left >= 80) put(&made, "\\n", 2);
        }
        put(&made, "\"", 1);
        made_size = size;
    }
    text_result(id, made.at, made.len);
}
static void flood(struct span id, long n) {
    char line[200];
    for (long i = 0; i < n; i++) {
        put(&out, line, (size_t)snprintf(line, sizeof line,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"logger\":\"flood\",\"data\":\"line %ld\"}}\n", i));
        if (out.len > 60000) flush_out();
    }
    text_result(id, "\"done\"", 6);
}
static void call(struct span id, struct span params) {
    struct span name = member(params, "name"), arguments = member(params, "arguments");
    char number[64];
    if (is(name, "\"echo\"")) {
        struct span text = member(arguments, "text");
        text_result(id, text.at, text.len);
    } else if (is(name, "\"add\"")) {
        double sum = strtod(member(arguments, "a").at, NULL) + strtod(member(arguments, "b").at, NULL);
        text_result(id, number, (size_t)snprintf(number, sizeof number, "\"%.15g\"", sum));
    } else if (is(name, "\"big\"")) {
        big(id, strtol(member(arguments, "size").at, NULL, 10));
    } else if (is(name, "\"flood\"")) {
        flood(id, strtol(member(arguments, "n").at, NULL, 10));
    } else if (is(name, "\"lists\"")) {
        text_result(id, number, (size_t)snprintf(number, sizeof number, "\"%ld\"", lists));
    } else {
        failure(id, -32602, "unknown tool");
    }
}
static void answer(const char *line) {
    struct span whole = {line, strlen(line)}, id = member(whole, "id"), method = member(whole, "method");
    if (id.len == 0 || method.len == 0) return;           /* notifications and stray answers */
    if (is(method, "\"tools/call\"")) {
        call(id, member(whole, "params"));
    } else if (is(method, "\"tools/list\"")) {
        lists++;
        open_result(id);
        put(&out, tools.at, tools.len);
        if (!legacy) puts_to(&out, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
        close_result();
    } else if (is(method, "\"initialize\"")) {
        legacy = 1;
        open_result(id);
        puts_to(&out, "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"logging\":{}},\"serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}");
        close_result();
    } else if (is(method, "\"server/discover\"")) {
        open_result(id);
        puts_to(&out, "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{},\"logging\":{}},\"ttlMs\":0,\"cacheScope\":\"private\","
                      "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"bench\",\"version\":\"1\"}}");
        close_result();
    } else if (is(method, "\"ping\"") || is(method, "\"logging/setLevel\"")) {
        puts_to(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
        put(&out, id.at, id.len);
        puts_to(&out, legacy ? ",\"result\":{}}\n" : ",\"result\":{\"resultType\":\"complete\"}}\n");
    } else {
        failure(id, -32601, "method not found");
    }
}

static void make_tools(long n) {
    static const char *const real[] = {
        "{\"name\":\"echo\",\"description\":\"Returns the text\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}",
        "{\"name\":\"add\",\"description\":\"Adds two numbers\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}}",
        "{\"name\":\"big\",\"description\":\"One long text\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\"}},\"required\":[\"size\"]}}",
        "{\"name\":\"flood\",\"description\":\"Notifications, then done\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}}",
        "{\"name\":\"lists\",\"description\":\"How often tools/list was asked for\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}}",
    };
    char tool[1200];
    puts_to(&tools, "\"tools\":[");
    for (long i = 0; i < n; i++) {
        if (i) puts_to(&tools, ",");
        if (i < 5) { puts_to(&tools, real[i]); continue; }
        put(&tools, tool, (size_t)snprintf(tool, sizeof tool,
            "{\"name\":\"tool_%04ld\",\"title\":\"Tool number %ld\",\"description\":\"Searches collection %ld for records that match a query and returns the best of them, newest first.\","
            "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"What to look for\",\"minLength\":1},"
            "\"limit\":{\"type\":\"integer\",\"description\":\"At most this many\",\"minimum\":1,\"maximum\":100,\"default\":10},"
            "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Only records with all of these\"},"
            "\"order\":{\"type\":\"string\",\"enum\":[\"newest\",\"oldest\",\"best\"]}},\"required\":[\"query\"],\"additionalProperties\":false},"
            "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}", i, i, i));
    }
    puts_to(&tools, "]");
}

int main(int argc, char **argv) {
    struct bytes in = {0};
    make_tools(argc > 1 ? strtol(argv[1], NULL, 10) : 5);
    for (;;) {
        char *line, *end;
        size_t used;
        ssize_t n;
        grow(&in, 65536);
        n = read(0, in.at + in.len, in.cap - in.len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        in.len += (size_t)n;
        line = in.at;
        while ((end = memchr(line, '\n', in.len - (size_t)(line - in.at)))) {
            *end = 0;
            answer(line);
            line = end + 1;
        }
        used = (size_t)(line - in.at);
        memmove(in.at, line, in.len - used);
        in.len -= used;
        flush_out();
    }
}
