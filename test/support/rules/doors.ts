/**
 * The doors between the kernel and the features, and between features: which files import a feature that is not theirs. A
 * feature is what can be taken away, so the kernel knows its stored words and not its code. These are the files where it
 * still does. Only a new feature lengthens the list: the rule of rooms (`rooms.ts`) refuses a door that is not here, and one that no file
 * needs any more. A table that `src/features/compose.ts` fills takes the place of a door.
 */
const KERNEL_DOORS: Readonly<Record<string, readonly string[]>> = {
  "src/engine/context/commit.ts": ["detached-calls", "spend-caps", "webhooks"],
  "src/engine/context/inbox.ts": ["approvals", "waits"],
  "src/engine/loop/beat.ts": ["redrive", "waits"],
  "src/engine/loop/completion-check.ts": ["children", "memory"],
  "src/engine/loop/release.ts": ["detached-calls"],
  "src/engine/loop/step.ts": [
    "approvals",
    "children",
    "compaction",
    "deadlines",
    "detached-calls",
    "memory",
    "result-summaries",
    "saga",
    "upgrades",
    "waits",
  ],
  "src/engine/loop/terminal-commit.ts": ["approvals", "archive", "children", "detached-calls"],
  "src/engine/model/call-model.ts": ["compaction", "detached-calls"],
  "src/engine/model/model-rate.ts": ["spend-caps"],
  "src/engine/model/model-request.ts": ["files", "live-text", "memory"],
  "src/engine/model/record-reply.ts": ["compaction", "memory"],
  "src/engine/model/topology.ts": ["children", "topologies"],
  "src/engine/tools/acted-before.ts": ["children"],
  "src/engine/tools/prepare-calls.ts": ["approvals", "children", "waits"],
  "src/engine/tools/run-tools.ts": ["files", "memory"],
};

/** Where two features meet without an event or a slot of the kernel between them. */
const FEATURE_DOORS: Readonly<Record<string, readonly string[]>> = {
  "src/features/approvals/core.ts": ["budget-extension"],
  "src/features/detached-calls/begin.ts": ["memory"],
  "src/features/detached-calls/engine.ts": ["files", "memory"],
  "src/features/files/run-files.ts": ["waits"],
  "src/features/saga/engine.ts": ["approvals"],
};

const DOORS = { ...KERNEL_DOORS, ...FEATURE_DOORS };

/** The features that this file may import, besides its own. */
export const doorsOf = (path: string): readonly string[] => DOORS[path] ?? [];

/** The feature that a file belongs to; null: none. */
export const featureOf = (path: string): string | null => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? null;

/** What runs a beat. It imports no feature, apart from its doors. */
export const isKernel = (path: string): boolean => /^src\/(core|protocol|codec|ports|history|engine)\//.test(path);

/** The files of a feature that are as pure as the core are told by their names: `core.ts`, `core-options.ts`. */
export const isPureInFeature = (path: string): boolean => /^src\/features\/.*\/core(-[a-z-]+)?\.ts$/.test(path);
