// A server on the TypeScript SDK 2.x, both eras. Usage: ts_sdk_2.mjs [stdio | http | http-json]. For `tests/interop` only.
import { randomUUID } from "node:crypto";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, inputResponse, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { json, serve } from "./_http.mjs";

const how = process.argv[2] ?? "stdio";
const endings = [];
const grown = [];
const tell = { toolsChanged() {}, resourceUpdated() {} };
const text = (value) => ({ content: [{ type: "text", text: value }] });
const result = (value) => ({ ...text(JSON.stringify(value)), structuredContent: { result: value } });
const booking = z.object({ guests: z.number().int(), window: z.boolean().default(false) });
const names = (start) => ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(start));

function offer(server, name) {
  return server.registerTool(name, { inputSchema: z.object({}) }, async () => text(`I am ${name}`));
}

function make({ era }) {
  const server = new McpServer(
    { name: "ts-sdk-2", version: "1.0" },
    { instructions: "Ask for a table, not for the moon.", capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  server.registerTool("add", { inputSchema: z.object({ a: z.number().int(), b: z.number().int() }), outputSchema: z.object({ result: z.number() }) },
    async ({ a, b }) => result(a + b));
  server.registerTool("weather", { inputSchema: z.object({ city: z.string() }), outputSchema: z.object({ city: z.string(), celsius: z.number() }) },
    async ({ city }) => ({ ...text(city), structuredContent: { city, celsius: 21.5 } }));
  server.registerTool("fail", { inputSchema: z.object({ why: z.string() }) }, async ({ why }) => { throw new Error(`cannot: ${why}`); });
  server.registerTool("count", { inputSchema: z.object({ steps: z.number().int() }) }, async ({ steps }, ctx) => {
    for (let step = 1; step <= steps; step++) await progress(ctx, step, steps, `step ${step}`);
    return text(`counted to ${steps}`);
  });
  server.registerTool("chatter", { inputSchema: z.object({}) }, async (_, ctx) => {
    await ctx.mcpReq.log("debug", "a detail");
    await ctx.mcpReq.log("warning", "a warning", "kitchen");
    return text("said");
  });
  server.registerTool("wait", { inputSchema: z.object({}) }, async (_, ctx) => {
    ctx.mcpReq.signal.addEventListener("abort", () => endings.push("cancelled"));
    await progress(ctx, 1);
    await new Promise((done) => { const timer = setTimeout(done, 50000); ctx.mcpReq.signal.addEventListener("abort", () => { clearTimeout(timer); done(); }); });
    return text("slept");
  });
  server.registerTool("how_it_ended", { inputSchema: z.object({}), outputSchema: z.object({ result: z.array(z.string()) }) }, async () => result(endings));
  server.registerTool("book_table", { inputSchema: z.object({ day: z.string() }) }, async ({ day }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "booking");
    if (answer.kind === "missing") {
      const form = inputRequired.elicit({ message: `How many guests on ${day}?`, requestedSchema: booking });
      return inputRequired({ inputRequests: { booking: form } });
    }
    if (answer.action !== "accept") return text(`not booked: ${answer.action}`);
    const { guests, window } = booking.parse(answer.content);
    return text(`table for ${guests} on ${day}, window ${window ? "True" : "False"}`);
  });
  server.registerTool("poem", { inputSchema: z.object({ topic: z.string() }) }, async ({ topic }, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "poem");
    if (answer.kind === "missing") {
      const messages = [{ role: "user", content: { type: "text", text: `A poem about ${topic}` } }];
      return inputRequired({ inputRequests: { poem: inputRequired.createMessage({ messages, maxTokens: 50 }) } });
    }
    return text(`${answer.result.model}: ${answer.result.content.text}`);
  });
  server.registerTool("folders", { inputSchema: z.object({}), outputSchema: z.object({ result: z.array(z.string()) }) }, async (_, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "roots");
    if (answer.kind === "missing") return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    return result(answer.roots.map((root) => root.uri));
  });
  server.registerTool("grow", { inputSchema: z.object({ name: z.string() }) }, async ({ name }) => {
    grown.push(name);
    offer(server, name);  // tells this connection
    tell.toolsChanged();  // and those who listen
    return text("grown");
  });
  const subscribed = new Set();
  for (const [method, change] of [["resources/subscribe", "add"], ["resources/unsubscribe", "delete"]])
    server.server.setRequestHandler(method, async ({ params }) => { subscribed[change](params.uri); return {}; });
  server.registerTool("season", { inputSchema: z.object({}) }, async () => {
    if (era === "modern" && how === "stdio" || subscribed.has("menu://today")) await server.server.sendResourceUpdated({ uri: "menu://today" });
    tell.resourceUpdated("menu://today");
    return text("seasoned");
  });
  for (const name of grown) offer(server, name);
  server.registerResource("menu", "menu://today", { mimeType: "text/plain" },
    async (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "Lentils, 豆腐, crème brûlée" }] }));
  server.registerResource("dish", new ResourceTemplate("dish://{name}", { list: undefined }), {},
    async (uri, { name }) => ({ contents: [{ uri: uri.href, blob: Buffer.from(name).toString("base64") }] }));
  server.registerPrompt("greet", { description: "A greeting.", argsSchema: z.object({ name: completable(z.string(), names) }) },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name} warmly.` } }] }));
  return server;
}

async function progress(ctx, done, total, message) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: done, total, message } });
}

if (how === "stdio") {
  serveStdio(make);
} else {
  const modern = createMcpHandler(make, { legacy: "reject", responseMode: how === "http-json" ? "json" : "sse" });
  tell.toolsChanged = () => modern.notify.toolsChanged();
  tell.resourceUpdated = (uri) => modern.notify.resourceUpdated(uri);
  const modernNode = toNodeHandler(modern);
  const sessions = new Map();
  serve(async (request, response) => {
    const body = request.method === "POST" ? await json(request) : undefined;
    if (!(await isLegacyRequest(await toWebRequest(request, body), body))) return modernNode(request, response, body);
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse: how === "http-json",
        onsessioninitialized: (id) => { sessions.set(id, transport); },
      });
      await make({ era: "legacy" }).connect(transport);
    }
    await transport.handleRequest(request, response, body);
  });
}
