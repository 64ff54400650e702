/**
 * `cairn schedules`: lists the agents that cairn starts on a schedule, the next firing of each, and the outcome of the
 * last one.
 */
import { nextFirings } from "../../sdk/schedule/firing-times.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { listSchedules } from "../../operations/schedules.ts";
import { readWholeCatalogue } from "./agents.ts";
import { EXIT } from "../errors.ts";
import { openSettled } from "../open.ts";
import { renderSchedules } from "../render/schedules.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { settingsOf } from "../settings.ts";
import { type Shell, type StoreFlags, printLines } from "../shell.ts";

export async function showSchedules(shell: Shell, flags: StoreFlags): Promise<number> {
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const catalogue = await readWholeCatalogue(settings.agentFiles);
  // This command only reads, so it does not create a missing store.
  const isThere = settings.world.isThere();
  const world = isThere ? (await openSettled(shell, settings, { create: false })).world : null;
  const now = Date.now();
  const agents = catalogue.agents.map(({ agent }) => agent);
  const { schedules } = await listSchedules(world, {
    ...{ catalogue: { agents, broken: [] }, tenant: DEFAULT_TENANT, firingsOf: nextFirings, now },
  });
  if (shell.json) printLines(shell, [...schedules, ...catalogue.broken]);
  else
    shell.terminal.out(
      renderSchedules(schedules, { now, paint: shell.terminal.paintOut, width: shell.terminal.width }),
    );
  for (const { why } of shell.json ? [] : catalogue.broken) shell.terminal.err(why);
  return EXIT.done;
}
