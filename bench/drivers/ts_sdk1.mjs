// The official TypeScript client, npm @modelcontextprotocol/sdk, with everything at its defaults.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { run } from "./scenarios.mjs";

await run("@modelcontextprotocol/sdk", async ([command, ...args]) => {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
});
