/**
 * `cairn schedules`: lists the agents that cairn starts on a schedule, the next firing of each, and the outcome of the
 * last one.
 */
import { nextFirings } from "../../features/schedules/firing-times.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { type Scheduled, listSchedules } from "../../operations/schedules.ts";
import { checkCaps } from "../../compose/check-caps.ts";
import { readWholeCatalogue } from "../../compose/catalogue.ts";
import { EXIT } from "../../compose/user-error.ts";
import { renderSchedules } from "../../render/schedules.ts";
import { surpriseIn } from "../../features/schedules/cron.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import { settingsOf } from "../../compose/settings.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";
import { overHttp, transportFor } from "../choose-transport.ts";

export async function showSchedules(shell: Shell, flags: StoreFlags): Promise<number> {
  const { schedules, broken, now } = flags.api === undefined ? await here(shell, flags) : await atApi(shell, flags.api);
  const { terminal } = shell;
  if (shell.json) printLines(shell, [...schedules, ...broken]);
  else terminal.out(renderSchedules(schedules, { now, paint: terminal.paintOut, width: terminal.width }));
  const surprises = schedules.map(surpriseIn).filter((why) => why !== null);
  for (const why of shell.json ? [] : [...broken.map((each) => each.why), ...surprises]) terminal.err(why);
  return EXIT.done;
}

interface Listed {
  readonly schedules: readonly Scheduled[];
  /** A file is named only by this machine. */
  readonly broken: readonly { readonly file?: string; readonly why: string }[];
  readonly now: number;
}

/** This command only reads, so it does not create a missing store. */
async function here(shell: Shell, flags: StoreFlags): Promise<Listed> {
  const settings = await settingsOf(shell, flags);
  registerResolution();
  const catalogue = await readWholeCatalogue(settings.agentFiles);
  await checkCaps(shell, settings, catalogue);
  const agents = catalogue.agents.map(({ agent }) => agent);
  const known = { agents: async () => ({ agents, broken: [] }), firingsOf: nextFirings };
  const { broken } = catalogue;
  if (!settings.world.isThere()) {
    const now = Date.now();
    const none = { catalogue: await known.agents(), tenant: DEFAULT_TENANT, firingsOf: nextFirings, now };
    return { schedules: (await listSchedules(null, none)).schedules, broken, now };
  }
  const transport = await transportFor(shell, settings, { create: false });
  return { schedules: (await transport.perform("schedules", {}, known)).schedules, broken, now: transport.now() };
}

/** A server says why it cannot load a file, but not where the file is. */
async function atApi(shell: Shell, api: string): Promise<Listed> {
  const transport = await overHttp(shell, api);
  const { schedules, broken } = await transport.perform("schedules", {});
  return { schedules, broken: broken.map((why) => ({ why })), now: transport.now() };
}
