/**
 * `cairn serve`: one process that drives the runs of a store and serves the HTTP API and the console on this machine.
 * The API keeps answering while the workers finish, since what it accepts is durable at once.
 */
import type { World } from "../../ports/world.ts";
import { nextFirings } from "../../features/schedules/firing-times.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { hadTokens } from "../../operations/access/check-token.ts";
import { authenticatorOf } from "../../api/access/authenticator.ts";
import { tokenAuthenticator } from "../../api/access/bearer.ts";
import type { Authenticate } from "../../api/access/caller.ts";
import type { AccessOptions } from "../../sdk/access.ts";
import { SCOPES } from "../../operations/operation.ts";
import type { UnreadStream } from "../../api/streams/open-streams.ts";
import { type Listening, listen } from "../../server/listen.ts";
import { catalogueOf } from "../../compose/catalogue.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { retyped } from "../../render/words.ts";
import type { Settings } from "../../compose/settings.ts";
import { agentToStart } from "../../compose/agent-to-start.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";
import { STARTED_BY_DEV, type ToSupervise, openToSupervise, supervised } from "./work.ts";

export interface ServeFlags extends BeatFlags {
  readonly port: number;
  readonly host: string;
}

/** The addresses that only programs of this machine reach. */
const LOCAL: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);

/** How long requests may take after the workers have finished. */
const GRACE_MS = 2_000;

export async function serve(
  shell: Shell,
  { flags, version }: { readonly flags: ServeFlags; readonly version: string },
): Promise<number> {
  shell.outliveOutput();
  const stop = shell.stopSignal();
  registerResolution();
  const opened = await openToSupervise(shell, flags);
  const { world, settings } = opened;
  const isDev = shell.env[STARTED_BY_DEV] !== undefined;
  const login = isDev ? async () => null : loginOf(world, settings.access);
  if (!LOCAL.has(flags.host) && (await login()) === null) throw loginRequired(shell, { settings, isDev });
  const onUnread = ({ run, seconds }: UnreadStream): void => {
    if (shell.json) return printLines(shell, [{ at: world.clock.now(), kind: "readerClosed", run, seconds }]);
    const of = run === null ? "an answer" : `run ${run}`;
    shell.terminal.out(`closed a reader of ${of}: it took nothing of what it asked for in ${seconds} seconds`);
  };
  const load = async () =>
    (await import("../../server/app.ts")).createLocalServer({
      login,
      onUnread,
      readers: settings.readers,
      ...(settings.access.limits !== undefined && { limits: settings.access.limits }),
      lostOutput: () => shell.lostOutput(),
      world,
      agentOf: (name) => agentToStart(shell, opened, name),
      agents: () => catalogueOf(settings),
      firingsOf: nextFirings,
      examine: async () => (await import("./doctor.ts")).examinedNow(shell, { settings, version }),
      load: () => opened.supervision.load(),
      attendant: () => opened.attendant(),
      caller: { tenant: DEFAULT_TENANT, actor: `${shell.user()}@${shell.host()}`, scopes: SCOPES, isOperator: true },
    });
  const listening = await listen({ ...flags, load, world }).catch((cause: unknown) => {
    throw portTaken(shell, { flags, cause, dev: isDev ? settings : null });
  });
  try {
    const { end } = supervised(shell, opened, {
      stop,
      command: isDev ? "dev" : "serve",
    });
    announce(shell, opened, { listening, isOpen: (await login()) === null });
    await wakeRunsThatWaitForCode(world);
    await end();
  } finally {
    await listening.close(GRACE_MS);
  }
  return EXIT.done;
}

/**
 * What the config says holds. Otherwise every request needs a token once the store had one; the first token counts from
 * the next request on. `iam` is for deployments.
 */
function loginOf(world: World, access: AccessOptions): () => Promise<Authenticate | null> {
  const configured = authenticatorOf(world, access);
  const byToken = tokenAuthenticator(world);
  let isRequired = false;
  return async () => {
    if (configured !== null) return configured;
    isRequired ||= await hadTokens(world);
    return isRequired ? byToken : null;
  };
}

function announce(
  shell: Shell,
  { world }: ToSupervise,
  { listening: { url }, isOpen }: { readonly listening: Listening; readonly isOpen: boolean },
): void {
  const access = isOpen ? "open" : "login";
  if (shell.json) return printLines(shell, [{ at: world.clock.now(), kind: "listening", url, access }]);
  const needs = isOpen ? "open to this machine" : "each request needs an access token";
  shell.terminal.out(`the console and the API are at ${shell.terminal.paintOut("bold", url)} (${needs})`);
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

/** Other machines reach that address, and without a login each of them would be the operator. */
function loginRequired(
  shell: Shell,
  { settings, isDev }: { readonly settings: Settings; readonly isDev: boolean },
): UserError {
  const what = "cairn does not listen at an address that other machines reach, since no request would need a login";
  const start = ["token", "create", "--scopes", "runs:read,runs:write,approve", "--name", "first"];
  const [why, next] = isDev
    ? ["cairn dev serves this machine only", retyped(shell, "--host", "127.0.0.1")]
    : [
        "a request needs a token from the first one on that you make, or what access.auth of your config asks for",
        settings.command(...start),
      ];
  return new UserError({ code: "LoginRequired", exit: EXIT.refused, what, why, next });
}

/** `dev`: the settings, if the user typed `cairn dev`, which starts this process with other words. */
function portTaken(
  shell: Shell,
  { flags, cause, dev }: { readonly flags: ServeFlags; readonly cause: unknown; readonly dev: Settings | null },
): UserError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = `cairn cannot listen at port ${flags.port} of ${flags.host}`;
  const port = String(flags.port + 1);
  const next = dev === null ? retyped(shell, "--port", port) : dev.command("dev", "--port", port);
  return new UserError({ code: "PortUnavailable", exit: EXIT.refused, what, why, next }, { cause });
}
