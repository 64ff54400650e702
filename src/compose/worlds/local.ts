/** The embedded world for the command line: a store in a directory, supervised by a process of the user. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { sentenceOf } from "../../codec/value.ts";
import { type Diagnosis, judgeAll } from "../../ports/diagnosis.ts";
import { StoreForeign, StoreInvalid, StoreTooNew, StoreUnusable } from "../../ports/store-errors.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import type {
  Attendant,
  ConfiguredWorld,
  DiagnoseOptions,
  Misconfigured,
  OpenWorldOptions,
  OpenedWorld,
  Places,
  WorldProvider,
} from "../../ports/world-provider.ts";
import type { Supervision, Supervisor } from "../../ports/supervision.ts";
import type { Limits } from "../../protocol/limits.ts";
import { agentFileOf, rememberAgentFile } from "../../adapters/local/store/agent-files.ts";
import { type StoreLook, localChecks } from "./local-checks.ts";
import { restoreBackup, takeBackup } from "../../adapters/local/store/backups.ts";
import { type Store, leftIn, openStore } from "../../adapters/local/store/database.ts";
import { drivenStore } from "../../adapters/local/store/driven-store.ts";
import { patientPorts } from "../../adapters/local/store/patient-ports.ts";
import { inspectStore } from "../../adapters/local/inspection.ts";
import { fileCode, isPathTooLong } from "../../adapters/local/store/store-errors.ts";
import { findNoReaper } from "../../workers/orphans.ts";
import { lostOutputOf } from "../../adapters/local/store/lost-output.ts";
import { supervisorOf } from "../../adapters/local/store/processes.ts";
import { removalsOf } from "../../adapters/local/store/removals.ts";
import { environmentSealKeys } from "../../adapters/local/seal-keys.ts";
import { localSecrets, lookFor, unreadSecrets } from "../../adapters/local/secrets.ts";
import { startSupervisor } from "../../workers/supervisor.ts";
import { assertSystem } from "../../adapters/local/system.ts";
import { withKernel } from "../../features/compose.ts";
import { localWorld } from "../../adapters/local/world.ts";
import { PRINTED_TELEMETRY } from "../workers/telemetry-line.ts";

const STORE = { name: "store", variable: "CAIRN_STORE" } as const;

/** The provider of the embedded world. */
export const localProvider: WorldProvider = {
  name: "local",
  settings: [STORE],
  driver: null,
  can: { rollout: false, agentFiles: true, kill: true },
  configure: ({ env, cwd, options, config }) => {
    const named = options[STORE.name] ?? env[STORE.variable];
    const dir = resolve(cwd, named || (config[STORE.name] ?? join(cwd, ".cairn")));
    const trouble = isThere(dir) ? null : misread(dir);
    if (trouble !== null) return { kind: "invalid", trouble };
    return { kind: "configured", world: localStore({ dir, env, cwd }) };
  },
  sealKeys: async (places) => environmentSealKeys(places),
};

/** A home directory is found by a shell, and a file of a URL by a browser: here they would be folders of such names. */
function misread(dir: string): Misconfigured | null {
  const what = `${dir} is no directory for a store`;
  const trouble = { code: "StoreInvalid", what, next: null };
  if (/\/~(\/|$)/.test(dir))
    return { ...trouble, why: "only a shell replaces ~, and only without quotes: write the path" };
  return /\/[a-z]+:\//.test(dir) ? { ...trouble, why: "a store is named by its path, not by a URL" } : null;
}

interface Located extends Places {
  readonly dir: string;
}

function localStore(at: Located): ConfiguredWorld {
  const { dir, env, cwd } = at;
  return {
    place: dir,
    words: ["--world", "local", "--store", dir],
    isThere: () => isThere(dir),
    open: async (options) => openedStore(at, options),
    findSecret: async (name) => lookFor(name, { env, file: join(cwd, ".env") }),
    diagnose: async (options) => diagnosis(at, options),
    agents: { kind: "files" },
    rollout: null,
    backups: {
      take: async ({ file, onShare }) => {
        const store = openStore({ dir, create: false });
        try {
          return await takeBackup(store, { file, onShare });
        } finally {
          store.close();
        }
      },
      restore: ({ file, options, settle }) =>
        restoreBackup({ file, dir, settle: (store) => settle(openedWorld(at, { ...options, store }).world) }),
    },
  };
}

/**
 * Whether there is a store. A path that is not a directory counts as one, and so do what is left of a store without its
 * file, a path that is too long, and a folder in which this user may not look, so that opening it reports what is wrong.
 */
function isThere(dir: string): boolean {
  if (isPathTooLong(dir)) return true;
  try {
    const folder = statSync(dir, { throwIfNoEntry: false });
    if (folder === undefined) return false;
    const file = statSync(join(dir, "cairn.sqlite"), { throwIfNoEntry: false });
    return !folder.isDirectory() || file !== undefined || leftIn(dir).length > 0;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(fileCode(error) ?? "");
  }
}

function openedStore({ dir, ...at }: Located, { create, check, ...options }: OpenWorldOptions): OpenedWorld {
  assertSystem();
  const store = openStore({ dir, create, ...(check !== undefined && { check }) });
  const opened = openedWorld(at, { ...options, store });
  // A supervisor does not block in an access, so what else its process does repeats it.
  return check === "supervisor" ? { ...opened, world: patientPorts(opened.world) } : opened;
}

function openedWorld(
  { env, cwd }: Places,
  { store, limits, sealKeys }: Omit<OpenWorldOptions, "create" | "check"> & { readonly store: Store },
): OpenedWorld {
  const secrets = localSecrets({ store, env, file: join(cwd, ".env") });
  const current = (): number | null => supervisorOf(store)?.pid ?? null;
  let started: Supervisor | null = null;
  const start: Supervision["start"] = (options) =>
    (started = startSupervisor({ ...options, store: drivenStore(store), limits }));
  return {
    world: withKernel(localWorld({ store, limits, telemetry: PRINTED_TELEMETRY, secrets, sealKeys })),
    operator: null,
    pollMs: 100,
    attendant: () => processNamed(current()),
    supervision: { current, start, load: () => started?.load() ?? null },
    agentFiles: {
      find: (agent) => agentFileOf(store, agent),
      remember: (located) => rememberAgentFile(store, located),
    },
    // A supervisor would delete it too, but possibly none is running.
    finishRemoval: (removed) => removalsOf(store).finish([removed]),
    close: () => store.close(),
  };
}

const processNamed = (pid: number | null): Attendant | null =>
  pid === null ? null : { id: pid, name: `process ${pid}` };

async function diagnosis(at: Located, { limits, command, onLong, whole = false }: DiagnoseOptions): Promise<Diagnosis> {
  const { dir } = at;
  const bytes = sizeOf(join(dir, "cairn.sqlite"));
  const mebibytes = Math.round(bytes / 1024 ** 2).toLocaleString("en-US");
  if (whole && bytes > LARGE_BYTES) onLong(`reading all ${mebibytes} MiB of the store at ${dir}`);
  const now = Date.now();
  const reaping = await findNoReaper();
  const seen = { look: lookAt(at, { now, limits, whole }), limits, now, reaping, command };
  return { checks: judgeAll(localChecks(seen), { seen, production: false }), hints: [] };
}

/** What cannot be looked at has no size here: the look at the store says why. */
function sizeOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch {
    return 0;
  }
}

/** The size from which reading a whole store takes noticeably long. */
const LARGE_BYTES = 256 * 1024 ** 2;

function lookAt(
  { dir, ...places }: Located,
  { now, limits, whole }: { readonly now: number; readonly limits: Limits; readonly whole: boolean },
): StoreLook {
  if (!isThere(dir)) return { kind: "missing", dir };
  // Throws if the seal keys are invalid, as opening the store would.
  environmentSealKeys(places);
  let store: Store | null = null;
  try {
    store = openStore({ dir, create: false, check: "none" });
    const seen = inspectStore(store, { overdueBefore: now - limits.overdueMs, whole });
    const supervisor = supervisorOf(store);
    const lostOutput = supervisor === null ? null : lostOutputOf(store, supervisor);
    const file = join(places.cwd, ".env");
    const unread = { names: unreadSecrets(store, { env: places.env, file }), file };
    return { kind: "seen", store: { ...seen, supervisor: supervisor?.pid ?? null, lostOutput, unread } };
  } catch (error) {
    if (!isOfStore(error)) throw error;
    return { kind: "broken", why: sentenceOf(error) };
  } finally {
    store?.close();
  }
}

/** Whether the error describes the state of the store. */
const isOfStore = (error: unknown): boolean =>
  [StoreInvalid, StoreTooNew, StoreForeign, StoreUnreachable, StoreUnusable].some((kind) => error instanceof kind);
