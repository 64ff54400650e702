/** Restate: a server of its own with its defaults, and a handler in this process with one step per beat. */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:http2";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import { createEndpointHandler, service } from "@restatedev/restate-sdk";

/** The first of four ports. */
const first = 20_000 + (process.pid % 4_000) * 5;
const [ingress, admin, node, handlers] = [first, first + 1, first + 2, first + 3];

/** The server's program, which the package for this system has. */
function findServer() {
  const packages = join(import.meta.dirname, "node_modules", "@restatedev");
  const found = readdirSync(packages).find((name) => /^restate-server-./.test(name));
  if (found === undefined) throw new Error("there is no Restate server for this system in bench/peers/node_modules");
  return join(packages, found, "bin", "restate-server");
}

function startServer(dir) {
  return spawn(findServer(), ["--no-logo", "--node-name", "bench"], {
    stdio: ["ignore", "ignore", "ignore"],
    env: {
      ...process.env,
      RESTATE_BASE_DIR: join(dir, "restate"),
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(node),
      RESTATE_ADVERTISED_HOST: "127.0.0.1",
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      DO_NOT_TRACK: "1",
      RUST_LOG: "error",
    },
  });
}

async function until(holds) {
  for (const end = performance.now() + 60_000; performance.now() < end; await elapse(100))
    if (await holds().catch(() => false)) return;
  throw new Error("the Restate server did not get ready");
}

const post = (port, path, body) =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

export async function open(dir, steps) {
  const loop = service({
    name: "bench",
    handlers: {
      loop: async (context) => {
        for (let turn = 0; turn < steps.beats; turn += 1) {
          await context.run(`beat-${turn}`, async () => ({ reply: steps.model(turn), result: steps.tool(turn) }));
        }
        return "done";
      },
    },
  });
  const endpoint = createServer(createEndpointHandler({ services: [loop] })).listen(handlers, "127.0.0.1");
  const server = startServer(dir);
  process.once("exit", () => server.kill("SIGKILL"));
  await until(async () => (await fetch(`http://127.0.0.1:${admin}/health`)).ok);
  await until(async () => (await post(admin, "/deployments", { uri: `http://127.0.0.1:${handlers}` })).ok);
  await until(async () => (await fetch(`http://127.0.0.1:${ingress}/restate/health`)).ok);
  return {
    run: async () => {
      const one = async (run) => {
        const answer = await post(ingress, "/bench/loop", { run });
        if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
        await answer.text();
      };
      await Promise.all(Array.from({ length: steps.runs }, (_, run) => one(run)));
    },
    close: async () => {
      endpoint.close();
      server.kill("SIGKILL");
    },
  };
}
