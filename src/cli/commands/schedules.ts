/**
 * `cairn schedules`: lists the agents that cairn starts on a schedule, the next firing of each, and the outcome of the
 * last one.
 */
import type { Agent } from "../../ports/agent.ts";
import { firingTimes } from "../../sdk/schedule/firing-times.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { lastFired } from "../../maintenance/firing.ts";
import type { World } from "../../ports/world.ts";
import { type Catalogue, readCatalogue } from "./agents.ts";
import { EXIT } from "../errors.ts";
import { openSettled } from "../open.ts";
import { renderSchedules, type Scheduled } from "../render/schedules.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printLines } from "../shell.ts";

const NEXT_SHOWN = 3;

export async function showSchedules(shell: Shell, flags: StoreFlags): Promise<number> {
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const catalogue = await readCatalogue(settings.agentFiles);
  // This command only reads, so it does not create a missing store.
  const isThere = settings.world.isThere();
  const world = isThere ? (await openSettled(shell, settings, { create: false })).world : null;
  const now = Date.now();
  const scheduled: Scheduled[] = [];
  for (const agent of scheduledIn(catalogue)) scheduled.push(await lineOf(agent, { world, now }));
  if (shell.json) printLines(shell, [...scheduled, ...catalogue.broken]);
  else
    shell.terminal.out(
      renderSchedules(scheduled, { now, paint: shell.terminal.paintOut, width: shell.terminal.width }),
    );
  for (const { why } of shell.json ? [] : catalogue.broken) shell.terminal.err(why);
  return EXIT.done;
}

/** Agents with a schedule, each name once. Every command that runs an agent refuses two agents with one name. */
function scheduledIn({ agents }: Catalogue): readonly Agent[] {
  const named = new Map(agents.map(({ agent }) => [agent.name, agent]));
  return [...named.values()].filter(({ schedule }) => schedule);
}

async function lineOf(agent: Agent, of: { readonly world: World | null; readonly now: number }): Promise<Scheduled> {
  const { every = "", timezone = "", overlap = "skip", missed = "latest" } = agent.schedule ?? {};
  const last = of.world === null ? null : await lastFired(of.world, { agent, tenant: DEFAULT_TENANT });
  return {
    ...{ agent: agent.name, every, timezone, overlap, missed },
    next: nextOf({ every, timezone }, of.now),
    last: last === null ? null : { at: last.at, run: last.run, stage: last.stage },
  };
}

function nextOf(of: Pick<Scheduled, "every" | "timezone">, now: number): readonly number[] {
  const times = firingTimes(of);
  const next: number[] = [];
  for (let at = times.next(now); at !== null && next.length < NEXT_SHOWN; at = times.next(at)) next.push(at);
  return next;
}
