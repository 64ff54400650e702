/**
 * `npm run golden`: writes what this format looks like today, for `golden.test.ts` to read: a state of each phase as a
 * snapshot with each event that it accepts as a journal, moments of sagas, decisions and outages likewise, one whole run
 * with all its rows and objects, and the archive of one.
 *
 * Files that are there are kept. `--replace` writes them anew: only in a commit that changes a stored form and says
 * which, and only until version 0.1.0 is cut. From then on what a release has written is never written again.
 */
import { accepts, fold } from "../../src/features/compose.ts";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { storedRow } from "../../src/adapters/local/store/row-text.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { readArchive } from "../../src/codec/archive.ts";
import { canonical, sha256 } from "../../src/codec/canonical.ts";
import { encodeJournal } from "../../src/codec/journal.ts";
import { encodeSnapshot } from "../../src/codec/snapshot.ts";
import { encodeSegment } from "../../src/codec/transcript.ts";
import type { Event, EventKind } from "../../src/core/event.ts";
import { PHASE_NAMES, type Phase } from "../../src/core/phases.ts";
import type { State } from "../../src/core/state.ts";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { FORMAT } from "../../src/protocol/row.ts";
import { playScene } from "../slow/crash/play.ts";
import { EVENT_KINDS, IN_PHASE, eventOf } from "../support/states/states-and-events.ts";
import { BEFORE_IMAGE_MOMENTS } from "./before-images.ts";
import { CHILD_MOMENTS } from "./children.ts";
import { DECISION_MOMENTS } from "./decisions.ts";
import { FILE_MOMENTS } from "./files.ts";
import { DETACHED_CALL_MOMENTS } from "./detached-calls.ts";
import { CHOICE_MOMENTS } from "./choices.ts";
import { MEMORY_MOMENTS } from "./memory.ts";
import { OUTAGE_MOMENTS } from "./outages.ts";
import { RESULT_SUMMARY_MOMENTS } from "./result-summaries.ts";
import { SAGA_MOMENTS } from "./sagas.ts";
import { TOPOLOGY_MOMENTS } from "./topologies.ts";
import { WAIT_MOMENTS } from "./waits.ts";
import type { Moment } from "./moment.ts";
import { fingerprint } from "./stored-forms.ts";

interface GoldenState {
  readonly snapshot: { readonly digest: string; readonly bytes: string };
  readonly segments: Readonly<Record<string, string>>;
  readonly state: string;
  readonly journals: readonly { readonly kind: EventKind; readonly bytes: string; readonly state: string }[];
}

export interface GoldenPhase extends GoldenState {
  readonly phase: Phase;
}

/** A state that no phase shows by itself. */
export interface GoldenMoment extends GoldenState {
  readonly moment: string;
}

export interface GoldenRun {
  /** As committed, one of each version: the text that the embedded store keeps, and the journal in base64. */
  readonly rows: readonly {
    readonly run: string;
    readonly lastCheckpointAt: number;
    readonly text: string;
    readonly journal: string | null;
  }[];
  readonly objects: Readonly<Record<string, string>>;
  readonly result: unknown;
}

export interface GoldenArchive {
  readonly key: string;
  readonly bytes: string;
  /** The digest of what is read from it. */
  readonly holds: string;
}

/** Bytes as text. */
export const packed = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
export const stateDigest = (state: State): string => sha256(canonical(state));
export const folderOf = (format: number): string => join(import.meta.dirname, `format-${format}`);

function golden(state: State, events: readonly Event[]): GoldenState {
  const seal = { sealed: null, unsealed: 0 };
  const { digest, bytes, segments } = encodeSnapshot({
    version: 0,
    previous: null,
    seal,
    commits: [],
    state,
    ...FEW_BYTES,
  });
  return {
    snapshot: { digest, bytes: packed(bytes) },
    segments: Object.fromEntries(segments.map((each) => [each.ref.sha256, packed(encodeSegment(each))])),
    state: stateDigest(state),
    journals: events.map((event) => {
      const journal = encodeJournal([{ version: 1, epoch: 1, events: [event] }]);
      return { kind: event.kind, bytes: packed(journal), state: stateDigest(fold(state, event)) };
    }),
  };
}

/** Events of children, waits and model jobs follow from a state that has them: the files of moments have those. */
function follows(state: State, event: Event): boolean {
  try {
    fold(state, event);
    return true;
  } catch (error) {
    if (error instanceof InvariantViolated) return false;
    throw error;
  }
}

function phases(): readonly GoldenPhase[] {
  return PHASE_NAMES.map((phase) => {
    const state = IN_PHASE[phase]();
    const events = EVENT_KINDS.filter((kind) => accepts(phase, kind)).map((kind) => eventOf(kind, phase));
    return {
      phase,
      ...golden(
        state,
        events.filter((event) => follows(state, event)),
      ),
    };
  });
}

const momentsOf = (moments: readonly Moment[]): readonly GoldenMoment[] =>
  moments.map(({ moment, state, events }) => ({ moment, ...golden(state, events) }));

async function wholeRun(): Promise<GoldenRun> {
  const { rows, world, result } = await playScene();
  const committed = rows.filter((row, index) => row.version !== rows[index + 1]?.version);
  return {
    rows: committed.map((row) => ({
      ...{ run: row.run, lastCheckpointAt: row.lastCheckpointAt, text: storedRow(row).row },
      journal: row.journal && packed(row.journal),
    })),
    objects: Object.fromEntries([...world.store.objects].map(([key, bytes]) => [key, packed(bytes)])),
    result,
  };
}

/** The archive of the scene's run, which is read when nothing else of it is left. */
async function archive(): Promise<GoldenArchive> {
  const { world } = await playScene();
  const [key, bytes] = [...world.store.objects].find(([each]) => each.startsWith("archive/")) ?? [];
  if (key === undefined || bytes === undefined) throw new Error("the scene has no archive");
  const { blobs, files: _, ...rest } = readArchive(bytes);
  return { key, bytes: packed(bytes), holds: sha256(canonical({ ...rest, blobs: [...blobs] })) };
}

/** Writes the fingerprint of the stored forms as they are now. The files that follow contain it, so it comes first. */
function renewFingerprint(words: readonly string[]): void {
  if (!words.includes("--replace")) throw new Error("a stored form has changed: type npm run golden -- --replace");
  const file = join(import.meta.dirname, "..", "..", "src", "protocol", "fingerprint.ts");
  writeFileSync(file, readFileSync(file, "utf8").replace(`"${FINGERPRINT}"`, `"${fingerprint()}"`));
  execFileSync(process.execPath, [import.meta.filename, ...words], { stdio: "inherit" });
}

async function main(words: readonly string[]): Promise<void> {
  if (fingerprint() !== FINGERPRINT) return renewFingerprint(words);
  const folder = folderOf(FORMAT);
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: unknown): void => {
    const file = join(folder, name);
    const isKept = existsSync(file) && !words.includes("--replace");
    if (!isKept) writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
    console.log(`${isKept ? "kept   " : "written"} ${file}`);
  };
  write("phases.json", phases());
  write("run.json", await wholeRun());
  write("saga.json", momentsOf(SAGA_MOMENTS));
  write("decisions.json", momentsOf(DECISION_MOMENTS));
  write("outage.json", momentsOf(OUTAGE_MOMENTS));
  write("topology.json", momentsOf(TOPOLOGY_MOMENTS));
  write("children.json", momentsOf(CHILD_MOMENTS));
  write("before-images.json", momentsOf(BEFORE_IMAGE_MOMENTS));
  write("waits.json", momentsOf(WAIT_MOMENTS));
  write("files.json", momentsOf(FILE_MOMENTS));
  write("detached-calls.json", momentsOf(DETACHED_CALL_MOMENTS));
  write("choices.json", momentsOf(CHOICE_MOMENTS));
  write("memory.json", momentsOf(MEMORY_MOMENTS));
  write("result-summaries.json", momentsOf(RESULT_SUMMARY_MOMENTS));
  write("archive.json", await archive());
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(process.argv.slice(2));
