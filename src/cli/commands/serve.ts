/**
 * `cairn serve`: one process that drives the runs of a store and serves the HTTP API and a status page on this machine.
 * The API keeps answering while the workers finish, since what it accepts is durable at once.
 */
import type { Agent } from "../../ports/agent.ts";
import type { World } from "../../ports/world.ts";
import { checkAgent } from "../../sdk/check.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { createLocalServer } from "../../server/app.ts";
import { type Listening, listen } from "../../server/listen.ts";
import { catalogueOf } from "./agent-list.ts";
import { readCatalogue } from "./agents.ts";
import { CliError, EXIT } from "../errors.ts";
import { retyped } from "../input.ts";
import { keepFile, locateTyped } from "../locate.ts";
import { type BeatFlags, type Shell, printLines } from "../shell.ts";
import { STARTED_BY_DEV } from "../supervise.ts";
import { type ToSupervise, openToSupervise, supervised } from "./work.ts";

export interface ServeFlags extends BeatFlags {
  readonly port: number;
  readonly host: string;
}

/** How long requests may take after the workers have finished. */
const GRACE_MS = 2_000;

export async function serve(shell: Shell, flags: ServeFlags): Promise<number> {
  const stop = shell.stopSignal();
  registerResolution();
  const opened = await openToSupervise(shell, flags);
  const { world, settings } = opened;
  const server = createLocalServer({
    ...{ world, place: settings.world.place, agentOf: (name) => agentOf(shell, opened, name) },
    agents: () => catalogueOf(settings),
    caller: { tenant: DEFAULT_TENANT, actor: `${shell.user()}@${shell.host()}` },
  });
  const listening = await listen(server, { ...flags, clock: world.clock }).catch((cause: unknown) => {
    throw portTaken(shell, { flags, cause });
  });
  try {
    const { end } = supervised(shell, opened, {
      stop,
      command: shell.env[STARTED_BY_DEV] === undefined ? "serve" : "dev",
    });
    announce(shell, opened, listening);
    await wakeRunsThatWaitForCode(world);
    await end();
  } finally {
    await listening.close(GRACE_MS);
  }
  return EXIT.done;
}

function announce(shell: Shell, { world }: ToSupervise, { url }: Listening): void {
  if (shell.json) printLines(shell, [{ at: world.clock.now(), kind: "listening", url }]);
  else shell.terminal.out(`the API and a status page are at ${shell.terminal.paintOut("bold", url)}`);
}

/** The agent that a start names; null if there is none. Throws if its file cannot be loaded. */
async function agentOf(shell: Shell, opened: ToSupervise, name: string): Promise<Agent | null> {
  const { settings } = opened;
  try {
    const located = await locateTyped(shell, { name, settings });
    const agent = pricedBy(located.agent, settings.prices);
    checkAgent(agent, settings.limits);
    await keepFile(opened, located);
    return agent;
  } catch (error) {
    if (!(error instanceof CliError) || error.trouble.code !== "AgentUnknown") throw error;
    // The name may be that of an agent in a broken file.
    const { broken } = await readCatalogue(settings.agentFiles);
    if (broken.length > 0) throw new Error(broken.map(({ why }) => why).join("; "), { cause: error });
    return null;
  }
}

/**
 * A run that waits for code polls ever more rarely. A server that starts may have that code, so such runs poll now. A
 * wake-up changes no row, so it cannot replace a request of an operator.
 */
async function wakeRunsThatWaitForCode({ table, chain, clock }: World): Promise<void> {
  let after: string | null = null;
  do {
    const page = await table.alive({ limit: PAGE, after, now: clock.now() });
    for (const { phase, park } of page.rows)
      if (phase === "AwaitingAgent" && park !== null) await chain.wake(park.token);
    after = page.next;
  } while (after !== null);
}

const PAGE = 500;

function portTaken(shell: Shell, { flags, cause }: { readonly flags: ServeFlags; readonly cause: unknown }): CliError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = `cairn cannot listen at port ${flags.port} of ${flags.host}`;
  const next = retyped(shell, "--port", String(flags.port + 1));
  return new CliError({ code: "PortUnavailable", exit: EXIT.refused, what, why, next }, { cause });
}
