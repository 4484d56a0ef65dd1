// The official TypeScript client, npm @modelcontextprotocol/client, with everything at its defaults.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run } from "./scenarios.mjs";

await run("@modelcontextprotocol/client", async (target) => {
  const client = new Client({ name: "bench", version: "1" });
  const stdio = () => new StdioClientTransport({ command: target[0], args: target.slice(1) });
  await client.connect(typeof target === "string" ? new StreamableHTTPClientTransport(new URL(target)) : stdio());
  return client;
});
