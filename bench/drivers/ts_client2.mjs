// The official TypeScript client, npm @modelcontextprotocol/client, with everything at its defaults.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run } from "./scenarios.mjs";

await run("@modelcontextprotocol/client", async ([command, ...args]) => {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command, args }));
  return client;
});
