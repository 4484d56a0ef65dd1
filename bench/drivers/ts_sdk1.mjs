// The official TypeScript client, npm @modelcontextprotocol/sdk, with everything at its defaults.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { run } from "./scenarios.mjs";

await run("@modelcontextprotocol/sdk", async (target) => {
  const client = new Client({ name: "bench", version: "1" });
  const stdio = () => new StdioClientTransport({ command: target[0], args: target.slice(1) });
  await client.connect(typeof target === "string" ? new StreamableHTTPClientTransport(new URL(target)) : stdio());
  return client;
});
