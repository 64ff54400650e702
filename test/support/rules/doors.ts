/**
 * The doors between the kernel and the features, and between features: which files import a feature that is not theirs. A
 * feature is what can be taken away, so the kernel knows its stored words and not its code. These are the files where it
 * still does. The list only shrinks: the rule of rooms (`rooms.ts`) refuses a door that is not here, and one that no file
 * needs any more. A table that `src/features/compose.ts` fills takes the place of a door.
 */
const KERNEL_DOORS: Readonly<Record<string, readonly string[]>> = {
  "src/core/calls/followed-calls.ts": ["budget-extension"],
  "src/core/calls/model-calls.ts": ["saga"],
  "src/core/calls/next-message.ts": ["waits"],
  "src/core/calls/open-calls.ts": ["upgrades"],
  "src/core/invariants.ts": ["children", "upgrades"],
  "src/core/outstanding.ts": [
    "approvals",
    "budget-extension",
    "children",
    "deadlines",
    "detached-calls",
    "saga",
    "waits",
  ],
  "src/core/policy/recovery.ts": ["children", "saga"],
  "src/core/topologies/table.ts": ["topologies"],
  "src/core/transition.ts": [
    "approvals",
    "children",
    "memory",
    "detached-calls",
    "redrive",
    "result-summaries",
    "saga",
    "upgrades",
    "waits",
  ],
  "src/engine/context/brief.ts": ["approvals", "budget-extension", "waits"],
  "src/engine/context/budget-gate.ts": ["approvals", "budget-extension", "children"],
  "src/engine/context/commit.ts": ["detached-calls", "spend-caps", "webhooks"],
  "src/engine/context/creation.ts": ["files"],
  "src/engine/context/inbox.ts": ["approvals", "waits"],
  "src/engine/context/stop-answer.ts": ["approvals", "waits"],
  "src/engine/loop/beat.ts": ["children", "redrive", "waits"],
  "src/engine/loop/completion-check.ts": ["children", "files", "memory"],
  "src/engine/loop/operator-requests.ts": ["waits"],
  "src/engine/loop/release.ts": ["detached-calls"],
  "src/engine/loop/step.ts": [
    "approvals",
    "children",
    "compaction",
    "deadlines",
    "memory",
    "detached-calls",
    "result-summaries",
    "saga",
    "upgrades",
    "waits",
  ],
  "src/engine/loop/terminal-commit.ts": ["approvals", "archive", "children", "detached-calls", "redrive", "waits"],
  "src/engine/model/call-model.ts": ["compaction", "files", "detached-calls"],
  "src/engine/model/model-rate.ts": ["spend-caps"],
  "src/engine/model/model-request.ts": ["files", "live-text", "memory"],
  "src/engine/model/prompt.ts": ["files"],
  "src/engine/model/record-reply.ts": ["compaction", "memory"],
  "src/engine/model/topology.ts": ["children"],
  "src/engine/tools/acted-before.ts": ["children"],
  "src/engine/tools/kept-result.ts": ["files"],
  "src/engine/tools/lost-time.ts": ["approvals"],
  "src/engine/tools/prepare-calls.ts": ["approvals", "children", "waits"],
  "src/engine/tools/run-tools.ts": ["files", "memory"],
  "src/history/checkpoint.ts": ["seals"],
  "src/history/export.ts": ["archive"],
  "src/history/inspection.ts": ["files"],
  "src/history/recording.ts": ["archive"],
  "src/history/verify.ts": ["files", "seals"],
};

/** Where two features meet without an event or a slot of the kernel between them. */
const FEATURE_DOORS: Readonly<Record<string, readonly string[]>> = {
  "src/features/approvals/core-ignored-decisions.ts": ["budget-extension", "saga"],
  "src/features/approvals/core.ts": ["budget-extension"],
  "src/features/approvals/engine.ts": ["budget-extension"],
  "src/features/archive/packed-history.ts": ["files"],
  "src/features/deadlines/core.ts": ["children", "saga"],
  "src/features/files/run-files.ts": ["waits"],
  "src/features/detached-calls/begin.ts": ["memory"],
  "src/features/detached-calls/engine.ts": ["files", "memory"],
  "src/features/saga/core.ts": ["upgrades", "waits"],
  "src/features/saga/engine.ts": ["approvals", "deadlines", "waits"],
};

const DOORS = { ...KERNEL_DOORS, ...FEATURE_DOORS };

/** The features that this file may import, besides its own. */
export const doorsOf = (path: string): readonly string[] => DOORS[path] ?? [];

/** The feature that a file belongs to; null: none. */
export const featureOf = (path: string): string | null => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? null;

/** What runs a beat. It imports no feature, apart from its doors. */
export const isKernel = (path: string): boolean => /^src\/(core|protocol|codec|ports|history|engine)\//.test(path);

/** The files of a feature that are as pure as the core are told by their names: `core.ts`, `core-openings.ts`. */
export const isPureInFeature = (path: string): boolean => /^src\/features\/.*\/core(-[a-z-]+)?\.ts$/.test(path);
