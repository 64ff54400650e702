/**
 * How long a test waits for an event of another process before it gives up. A test never waits for a time to pass: it
 * waits for a line, a row, a file or an exit, and these limits end a test whose event never comes.
 *
 * Every limit is one of this table, times the factor of the machine, which `measureMachine` measures once at the start
 * of the test run. So a test on a machine beside eight busy processes waits longer, and no test has a number of its own.
 */
import { spawnSync } from "node:child_process";

/** The environment variable in which the test run hands the factor to its workers. */
export const FACTOR_VARIABLE = "CAIRN_TEST_FACTOR";

/** What `node -e 0` takes on the machine for which the table was written, in milliseconds. */
const QUIET_NODE_MS = 45;
const NODE_STARTS = 10;
/** Above this factor a machine is too slow to judge anything. */
const FACTOR_MAX = 20;

/** How much slower this machine is now than a quiet one, from 1 to 20: the median of ten starts of Node. */
export function measureMachine(): number {
  const times = Array.from({ length: NODE_STARTS }, () => {
    const begun = performance.now();
    spawnSync(process.execPath, ["-e", "0"]);
    return performance.now() - begun;
  }).toSorted((one, other) => one - other);
  return factorOf(times[NODE_STARTS / 2] ?? QUIET_NODE_MS);
}

/** The factor for a median time of `node -e 0` in milliseconds. */
const factorOf = (nodeMs: number): number => Math.min(FACTOR_MAX, Math.max(1, nodeMs / QUIET_NODE_MS));

/** The factor of this test run; 1 where no run measured one. */
const factor = (): number => {
  const written = Number(process.env[FACTOR_VARIABLE]);
  return written >= 1 && written <= FACTOR_MAX ? written : 1;
};

/** The limits on a machine that is so much slower than a quiet one. */
export function limitsAt(factor: number) {
  const scaled = (ms: number): number => Math.ceil(ms * factor);
  /** The command line and deployments take a beat in seconds. */
  const scaledSeconds = (seconds: number): number => Math.ceil(seconds * factor) * 1_000;
  return {
    /** Something that this process itself does in one of its next turns. */
    turnMs: scaled(10_000),
    /** A line, a row or a file of another process that already runs. */
    eventMs: scaled(60_000),
    /** The end of a process that was told to end, or of a short command. */
    exitMs: scaled(60_000),
    /** The start of a process until its first line: Node, the sources and the agents are loaded. */
    startMs: scaled(60_000),
    /** A run of several beats over several processes, and each part of a long one. */
    runMs: scaled(150_000),
    /** A whole scene with many processes: a storm, chaos, a server in a browser, an installation. */
    sceneMs: scaled(600_000),
    /** One request to an emulator on this machine. A test loses requests on purpose, so it waits for this limit. */
    requestMs: scaled(3_000),
    /**
     * A beat, and so a lease, of the product that ends within the test, since its end is the subject. It is as short as a
     * loaded machine bears, which has to come to the point of the test before it ends.
     */
    shortBeatMs: scaledSeconds(6),
    /** A beat of the product that no test reaches. A beat has 900 seconds at most. */
    longBeatMs: Math.min(900_000, scaledSeconds(300)),
  } as const;
}

/** In milliseconds, scaled to the machine. Every limit is generous: only a test that would fail waits for all of it. */
export const LIMITS = limitsAt(factor());
