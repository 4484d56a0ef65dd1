// A server on the TypeScript SDK 1.x, up to 2025-11-25. Usage: ts_sdk_1.mjs [stdio | http | http-json | sse]. For `tests/interop` only.
import { randomUUID } from "node:crypto";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { json, serve } from "./_http.mjs";

const endings = [];
const grown = [];
const text = (value) => ({ content: [{ type: "text", text: value }] });
const result = (value) => ({ ...text(JSON.stringify(value)), structuredContent: { result: value } });
const names = (start) => ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(start));
const booking = {
  type: "object",
  properties: { guests: { type: "integer" }, window: { type: "boolean", default: false } },
  required: ["guests"],
};

function offer(server, name) {
  server.registerTool(name, {}, async () => text(`I am ${name}`));
}

function make() {
  const server = new McpServer(
    { name: "ts-sdk-1", version: "1.0" },
    { instructions: "Ask for a table, not for the moon.", capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const inner = server.server;
  server.registerTool("add", { inputSchema: { a: z.number().int(), b: z.number().int() }, outputSchema: { result: z.number() } },
    async ({ a, b }) => result(a + b));
  server.registerTool("weather", { inputSchema: { city: z.string() }, outputSchema: { city: z.string(), celsius: z.number() } },
    async ({ city }) => ({ ...text(city), structuredContent: { city, celsius: 21.5 } }));
  server.registerTool("fail", { inputSchema: { why: z.string() } }, async ({ why }) => { throw new Error(`cannot: ${why}`); });
  server.registerTool("count", { inputSchema: { steps: z.number().int() } }, async ({ steps }, extra) => {
    for (let step = 1; step <= steps; step++) await progress(extra, step, steps, `step ${step}`);
    return text(`counted to ${steps}`);
  });
  server.registerTool("chatter", {}, async (extra) => {
    for (const params of [{ level: "debug", data: "a detail" }, { level: "warning", logger: "kitchen", data: "a warning" }])
      await extra.sendNotification({ method: "notifications/message", params });
    return text("said");
  });
  server.registerTool("wait", {}, async (extra) => {
    extra.signal.addEventListener("abort", () => endings.push("cancelled"));
    await progress(extra, 1);
    await new Promise((done) => { const timer = setTimeout(done, 50000); extra.signal.addEventListener("abort", () => { clearTimeout(timer); done(); }); });
    return text("slept");
  });
  server.registerTool("how_it_ended", { outputSchema: { result: z.array(z.string()) } }, async () => result(endings));
  server.registerTool("book_table", { inputSchema: { day: z.string() } }, async ({ day }, extra) => {
    const answer = await inner.elicitInput({ message: `How many guests on ${day}?`, requestedSchema: booking }, { relatedRequestId: extra.requestId });
    if (answer.action !== "accept") return text(`not booked: ${answer.action}`);
    return text(`table for ${answer.content.guests} on ${day}, window ${answer.content.window ? "True" : "False"}`);
  });
  server.registerTool("poem", { inputSchema: { topic: z.string() } }, async ({ topic }, extra) => {
    const messages = [{ role: "user", content: { type: "text", text: `A poem about ${topic}` } }];
    const sampled = await inner.createMessage({ messages, maxTokens: 50 }, { relatedRequestId: extra.requestId });
    return text(`${sampled.model}: ${sampled.content.text}`);
  });
  server.registerTool("folders", { outputSchema: { result: z.array(z.string()) } }, async (extra) => {
    const { roots } = await inner.listRoots({}, { relatedRequestId: extra.requestId });
    return result(roots.map((root) => root.uri));
  });
  server.registerTool("grow", { inputSchema: { name: z.string() } }, async ({ name }) => {
    grown.push(name);
    offer(server, name);
    return text("grown");
  });
  const subscribed = new Set();
  for (const [schema, change] of [[SubscribeRequestSchema, "add"], [UnsubscribeRequestSchema, "delete"]])
    inner.setRequestHandler(schema, async ({ params }) => { subscribed[change](params.uri); return {}; });
  server.registerTool("season", {}, async () => {
    if (subscribed.has("menu://today")) await inner.sendResourceUpdated({ uri: "menu://today" });
    return text("seasoned");
  });
  for (const name of grown) offer(server, name);
  server.registerResource("menu", "menu://today", { mimeType: "text/plain" },
    async (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "Lentils, 豆腐, crème brûlée" }] }));
  server.registerResource("dish", new ResourceTemplate("dish://{name}", { list: undefined }), {},
    async (uri, { name }) => ({ contents: [{ uri: uri.href, blob: Buffer.from(name).toString("base64") }] }));
  server.registerPrompt("greet", { description: "A greeting.", argsSchema: { name: completable(z.string(), names) } },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name} warmly.` } }] }));
  return server;
}

async function progress(extra, done, total, message) {
  const progressToken = extra._meta?.progressToken;
  if (progressToken !== undefined)
    await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress: done, total, message } });
}

const how = process.argv[2] ?? "stdio";
const sessions = new Map();
if (how === "stdio") {
  await make().connect(new StdioServerTransport());
} else if (how === "sse") {
  serve(async (request, response) => {
    if (request.method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      sessions.set(transport.sessionId, transport);
      await make().connect(transport);
    } else {
      const transport = sessions.get(new URL(request.url, "http://localhost").searchParams.get("sessionId"));
      if (request.method === "POST" && transport) await transport.handlePostMessage(request, response);
      else response.writeHead(405).end();
    }
  }, "/sse");
} else {
  serve(async (request, response) => {
    const body = request.method === "POST" ? await json(request) : undefined;
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: how === "http-json",
        onsessioninitialized: (id) => { sessions.set(id, transport); },
      });
      await make().connect(transport);
    }
    await transport.handleRequest(request, response, body);
  });
}
