/** The server on this machine with one agent whose `send` needs approval, and a driver that advances its runs. */
import { serve } from "@hono/node-server";
import { setTimeout as elapse } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { tokenAuthenticator } from "../../../src/api/access/bearer.ts";
import { createToken } from "../../../src/operations/access/tokens.ts";
import { SCOPES, type Scope } from "../../../src/operations/operation.ts";
import { askHuman, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { createLocalServer } from "../../../src/server/app.ts";
import { createServedHarness, drive, runnerOf } from "./drive.ts";

/** What its runs did outside, in order. */
interface Sent {
  readonly to: string;
  readonly key: string;
}

export interface ProtocolServer {
  readonly url: string;
  readonly world: World;
  readonly sent: readonly Sent[];
  /** A token with these scopes. */
  readonly tokenFor: (scopes: readonly Scope[], tenant?: string) => Promise<string>;
  /** The IDs of all runs of the tenant. */
  readonly runs: (tenant?: string) => Promise<readonly string[]>;
}

const plans: Record<string, readonly { readonly tool: string; readonly args: object }[]> = {
  look: [{ tool: "look", args: {} }],
  send: [{ tool: "send", args: { to: "Ada" } }],
  ask: [{ tool: "ask", args: { question: "Which colour?" } }],
};

function clerkOf(sent: Sent[], gate: Promise<void>): Agent {
  return defineAgent({
    name: "clerk",
    version: "1",
    instructions: "",
    task: z.object({ plan: z.string() }).describe("Does what the plan says."),
    model: scriptedModel({
      name: "clerk-model",
      reply: ({ task, calls }) => {
        const { plan } = task.json as { plan: string };
        if (plan === "fail") throw new Error("the model is broken");
        const [next] = plans[plan] ?? [];
        if (next !== undefined && calls.length === 0) return { text: `I will ${plan}.`, calls: [next] };
        return { text: `did ${plan}: ${calls.map(({ outcome }) => outcome).join(", ")}` };
      },
    }),
    tools: {
      look: tool({
        input: z.object({}),
        effect: "none",
        run: async () => {
          await gate;
          return "seen";
        },
      }),
      send: tool({
        input: z.object({ to: z.string() }),
        effect: "keyed",
        approval: "always",
        run: ({ input: { to }, key }) => {
          sent.push({ to, key });
          return "sent";
        },
      }),
      ask: askHuman({ answer: z.object({ colour: z.string() }) }),
    },
  }) as Agent;
}

/** `isOpen`: no token is needed. `gate`: a call of `look` ends only after it. `more`: agents beside the clerk. */
export async function protocolServer(
  of: { readonly isOpen?: boolean; readonly gate?: Promise<void>; readonly more?: readonly Agent[] } = {},
): Promise<ProtocolServer> {
  const { isOpen = true, gate = Promise.resolve(), more = [] } = of;
  const { world } = createServedHarness();
  const sent: Sent[] = [];
  const agents = [clerkOf(sent, gate), ...more];
  const server = createLocalServer({
    world,
    agentOf: async (name) => agents.find((agent) => agent.name === name) ?? null,
    agents: async () => ({ agents, broken: [] }),
    firingsOf: () => [],
    login: async () => (isOpen ? null : tokenAuthenticator(world)),
    caller: { tenant: "local", actor: "ann", scopes: SCOPES },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const listening = serve({ fetch: server.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
  onTestFinished(() => {
    server.streams.closeAll();
    listening.close();
    (listening as unknown as { closeAllConnections: () => void }).closeAllConnections();
  });
  keepDriving(world, agents);
  const runs = async (tenant = "local"): Promise<readonly string[]> => {
    const page = await world.table.list({ tenant, status: null, limit: 100, after: null, now: world.clock.now() });
    return page.rows.map(({ run }) => run);
  };
  const tokenFor = async (scopes: readonly Scope[], tenant = "local"): Promise<string> => {
    const made = await createToken(world, { tenant, scopes, lifeMs: null, name: null, by: "ann" });
    return made.secret;
  };
  return { url: `http://127.0.0.1:${await promise}`, world, sent, tokenFor, runs };
}

const PAUSE_MS = 20;

/** Advances every run that has something to do, until the test is finished. */
function keepDriving(world: World, agents: readonly Agent[]): void {
  let isOver = false;
  const advance = async (): Promise<void> => {
    const page = await world.table.alive({ limit: 100, after: null, now: world.clock.now() });
    for (const { run } of page.rows) {
      const row = await world.table.read(run, world.clock.now());
      if (row === null || row.owner !== null || !(row.status === "queued" || row.wakeCount !== row.wakeCountSeen))
        continue;
      const { born, chain, epoch, agent } = row;
      await drive(runnerOf(world, agents), { run, born, chain, epoch, agent });
    }
  };
  const keepOn = async (): Promise<void> => {
    while (!isOver) {
      // A server that is away at this moment, such as one whose store is closed, is tried again.
      await advance().catch(() => undefined);
      await elapse(PAUSE_MS);
    }
  };
  const driving = keepOn();
  onTestFinished(async () => {
    isOver = true;
    await driving;
  });
}
