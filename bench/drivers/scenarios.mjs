// The scenarios of scenarios.py for the TypeScript clients; same names, same metrics, same checks. CPU is all threads of the process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const now = () => performance.now();
const cpuMs = () => { const used = process.cpuUsage(); return (used.user + used.system) / 1000; };
const median = (all) => { const s = [...all].sort((a, b) => a - b), m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
const echo = (client) => client.callTool({ name: "echo", arguments: { text: "hello, world" } });
const text = (result) => result.content[0].text;
const check = async (client) => { if (text(await echo(client)) !== "hello, world") throw new Error("echo answered wrongly"); };

function memoryKb() {
  globalThis.gc?.();
  const rollup = readFileSync("/proc/self/smaps_rollup", "utf8");
  return ["Rss", "Pss"].map((name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)[1]));
}

const scenarios = {
  async sequential(connect, params) {
    const client = await connect(params.server);
    await check(client);
    for (let i = 0; i < params.warmup; i++) await echo(client);
    const took = [], cpu = cpuMs();
    for (let i = 0; i < params.calls; i++) { const start = now(); await echo(client); took.push((now() - start) * 1000); }
    const used = cpuMs() - cpu;
    await client.close();
    took.sort((a, b) => a - b);
    const mean = took.reduce((sum, one) => sum + one, 0) / took.length;
    return { p50_us: median(took), mean_us: mean, p99_us: took[Math.floor(took.length * 0.99)], cpu_us: used * 1000 / params.calls };
  },
  async flight(connect, params) {
    const client = await connect(params.server);
    await check(client);
    let done = 0, stop = false;
    const workers = Array.from({ length: params.in_flight }, async () => { while (!stop) { await echo(client); done++; } });
    await sleep(params.warmup_s * 1000);
    const before = done, cpu = cpuMs(), start = now();
    await sleep(params.seconds * 1000);
    const calls = done - before, used = cpuMs() - cpu, wall = now() - start;
    stop = true;
    await Promise.all(workers);
    await client.close();
    return { cpu_us: used * 1000 / calls, calls_per_s: calls / wall * 1000 };
  },
  async large(connect, params) {
    const client = await connect(params.server), values = {};
    await check(client);
    for (const [name, megabytes] of [["small", params.small_mb], ["large", params.large_mb]]) {
      if (!megabytes) continue;
      const size = megabytes * 1048576, took = [], began = now();
      while (took.length < 3 && now() - began < 8000) {
        const start = now(), length = text(await client.callTool({ name: "big", arguments: { size, ...params.more } })).length;
        took.push(now() - start);
        if (length !== size) throw new Error(`asked for ${size} characters, got ${length}`);
      }
      values[`${name}_ms`] = median(took);
    }
    await client.close();
    if (params.large_mb) values.growth = values.large_ms / values.small_ms / (params.large_mb / params.small_mb);
    values.peak_rss_mb = process.resourceUsage().maxRSS / 1024;
    return values;
  },
  async listing(connect, params) {
    const client = await connect([...params.server, String(params.tools)]);
    await check(client);
    const lists = async () => Number(text(await client.callTool({ name: "lists", arguments: {} })));
    const before = await lists(), took = [], cpu = cpuMs(), began = now();
    while (took.length < 5 || (now() - began < 2000 && took.length < 100)) {
      const start = now(), count = (await client.listTools()).tools.length;
      took.push(now() - start);
      if (count !== params.tools) throw new Error(`expected ${params.tools} tools, got ${count}`);
    }
    const used = cpuMs() - cpu;
    if (await lists() - before < took.length) throw new Error("listings came from a cache");
    await client.close();
    return { list_ms: median(took), cpu_ms: used / took.length };
  },
  async flood(connect, params) {
    const client = await connect(params.server);
    await check(client);
    const took = async (n) => {
      const start = now();
      if (text(await client.callTool({ name: "flood", arguments: { n } })) !== "done") throw new Error("flood was not answered with done");
      return now() - start;
    };
    const plain = [], flooded = [];
    for (let i = 0; i < 20; i++) plain.push(await took(0));
    for (let i = 0; i < 3; i++) flooded.push(await took(params.notifications));
    await client.close();
    return { late_ms: median(flooded) - median(plain) };
  },
  async memory(connect, params) {
    const clients = [await connect(params.server)];
    await check(clients[0]);
    const [rssOne, pssOne] = memoryKb();
    while (clients.length < params.servers) { clients.push(await connect(params.server)); await check(clients.at(-1)); }
    const [rss, pss] = memoryKb(), more = params.servers - 1;
    await Promise.all(clients.map((client) => client.close()));
    return { rss_kb_each: (rss - rssOne) / more, pss_kb_each: (pss - pssOne) / more, rss_one_mb: rssOne / 1024 };
  },
  async connecting(connect, params) {
    const first = await connect(params.server);
    await check(first);
    await first.close();
    const walls = [], cpus = [];
    for (let round = 0; round < params.rounds; round++) {
      const cpu = cpuMs(), start = now();
      const clients = await Promise.all(Array.from({ length: params.servers }, () => connect(params.server)));
      walls.push(now() - start);
      cpus.push(cpuMs() - cpu);
      await Promise.all(clients.map((client) => client.close()));
    }
    return { connect_ms: median(walls), cpu_ms: median(cpus) };
  },
  async reconnect(connect, params) {
    const took = [];
    for (let number = 0; number < params.rounds + 2; number++) {
      const start = now(), client = await connect(params.server);
      if (number > 1) took.push(now() - start); else await check(client);
      await client.close();
    }
    return { connect_ms: median(took) };
  },
};

// The URL of the server, which ends with its standard input.
async function served([command, ...args], path) {
  const child = spawn(command, [...args, "--http"], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(child.stdout.setEncoding("utf8"), "data");
  const stop = async () => { const ended = once(child, "exit"); child.stdin.end(); await ended; };
  return [`http://127.0.0.1:${port.trim()}${path}`, stop];
}

export async function run(name, connect) {
  const version = JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
  const params = JSON.parse(process.argv[3]);
  let stop = async () => {};
  if (params.via) [params.server, stop] = await served(params.server, params.via);
  const values = await scenarios[process.argv[2]](connect, params);
  await stop();
  console.log(JSON.stringify({ values, client: `${name} ${version}` }));
  process.exit(0);
}
