/** `cairn schedules pause|resume|run AGENT`: pauses a schedule, lets it go on, or starts a scheduled run now. */
import { registerResolution } from "../../sdk/resolution.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { locateTyped } from "../../compose/locate.ts";
import { refusedAs } from "../perform.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { overHttp, transportFor } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

interface Asked {
  readonly action: string;
  readonly agent: string | undefined;
  readonly flags: StoreFlags & { readonly key?: string };
}

const ROWS = {
  pause: OPERATIONS.pauseSchedule,
  resume: OPERATIONS.resumeSchedule,
  run: OPERATIONS.runSchedule,
} as const;

export async function steerSchedule(shell: Shell, { action, agent: name, flags }: Asked): Promise<number> {
  if (!(action in ROWS) || name === undefined) throw usage(action);
  const { transport, agent, local } = await scheduled(shell, { action, name, flags });
  if (action === "run") {
    const outcome = await transport.perform("runSchedule", { agent, key: flags.key ?? null }, local);
    return started(shell, transport, { agent, outcome });
  }
  const { kind } = await transport.perform(ROW_NAMES[action === "pause" ? "pause" : "resume"], { agent }, local);
  if (kind === "agentUnknown" || kind === "notScheduled") throw notScheduled(transport, agent);
  if (shell.json) printDocument(shell, { agent, outcome: kind });
  else shell.terminal.out(`${agent}: ${ROWS.pause.outcomes[kind].says}`);
  return EXIT.done;
}

const ROW_NAMES = { pause: "pauseSchedule", resume: "resumeSchedule" } as const;

/** Where the schedule is, and its agent as it is named there. */
async function scheduled(
  shell: Shell,
  { action, name, flags }: { readonly action: string; readonly name: string; readonly flags: StoreFlags },
) {
  if (flags.api !== undefined) return { transport: await overHttp(shell, flags.api), agent: name, local: {} };
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const { agent } = await locateTyped(shell, { name, settings });
  const transport = await transportFor(shell, settings, { create: action === "run" });
  return { transport, agent: agent.name, local: { agentOf: async () => agent } };
}

type Outcome = OutcomeOf<"runSchedule">;

function started(
  shell: Shell,
  transport: Transport,
  { agent, outcome }: { readonly agent: string; readonly outcome: Outcome },
): number {
  const { command } = transport;
  const what = `the schedule of ${agent} starts no run now`;
  switch (outcome.kind) {
    case "started":
    case "exists": {
      const { run } = outcome;
      const isFirst = outcome.kind === "started";
      if (shell.json) printDocument(shell, { run, agent, started: isFirst });
      else shell.terminal.out(`${run} ${isFirst ? "is started" : "was started before under this key"}`);
      return EXIT.done;
    }
    case "overlaps": {
      const why = `its last run ${outcome.run} has not ended, and its runs may not overlap`;
      throw refusedAs(ROWS.run, outcome.kind, { what, why, next: command("show", outcome.run) });
    }
    case "invalid":
      throw refusedAs(ROWS.run, outcome.kind, { what, why: outcome.why, next: command("schedules") });
    case "conflict":
    case "limitReached":
    case "budgetMissing":
    case "ended": {
      const why = ROWS.run.outcomes[outcome.kind].says;
      throw refusedAs(ROWS.run, outcome.kind, { what, why, next: command("schedules", "run", agent) });
    }
    case "agentUnknown":
    case "notScheduled":
      throw notScheduled(transport, agent);
  }
}

function notScheduled({ command }: Transport, agent: string): UserError {
  const why = 'its code declares none: write schedule: { every: "rate(1 day)" }';
  return refusedAs(ROWS.run, "notScheduled", { what: `${agent} has no schedule`, why, next: command("schedules") });
}

function usage(action: string): UserError {
  const [what, why] = [`cairn cannot ${action} a schedule`, "name an action and the agent"];
  return new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: "npx cairn schedules pause AGENT" });
}
