/** Plays suites over a copy of the sources, in a process that goes on from suite to suite. */
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { killGroup } from "../../src/adapters/local/process-identity.ts";
import { LIMITS } from "../support/gate/limits.ts";

/** How long a suite waits for what a broken rule may prevent for ever. The process of the suite knows its factor. */
export const PATIENCE_MS = 2 * LIMITS.turnMs;

/** `passed`: the suite noticed nothing. `failed`: it noticed something. `broken`: it could not judge. */
export interface Verdict {
  readonly kind: "passed" | "failed" | "broken";
  /** The checker that noticed, or why there is no verdict. */
  readonly reason: string;
  /** Whether it only says that something did not come in time. A slow machine may say the same without any mutant. */
  readonly isLate: boolean;
}

/** The tests of a file whose names match `title`. `changed`: the files of the mutant. Paths begin at the copy. */
export interface Played {
  readonly file: string;
  readonly title: string;
  readonly changed: readonly string[];
}

export interface Judge {
  /** Without a verdict after `ms` the process and its workers are killed. The next suite gets another process. */
  judge(played: Played, ms: number): Promise<Verdict>;
  close(): void;
}

export function createJudge(copy: string, env: NodeJS.ProcessEnv): Judge {
  let child: ChildProcess | null = null;
  const start = (): ChildProcess =>
    fork(join(import.meta.dirname, "judge.ts"), { cwd: copy, env, execArgv: [], stdio: "ignore", detached: true });
  const close = (): void => {
    if (child?.pid !== undefined) killGroup(child.pid);
    child = null;
  };
  const late = (reason: string): Verdict => {
    close();
    return { kind: "broken", reason, isLate: true };
  };
  return {
    async judge(played, ms) {
      const asked = (child ??= start());
      const { promise, resolve } = Promise.withResolvers<Verdict>();
      const onExit = (): void => resolve(late("the process of the suite exited"));
      const timer = setTimeout(() => resolve(late(`no verdict within ${ms} ms`)), ms);
      asked.once("message", (verdict) => resolve(verdict as Verdict)).once("exit", onExit);
      asked.send(played);
      const verdict = await promise;
      clearTimeout(timer);
      asked.removeAllListeners();
      return verdict;
    },
    close,
  };
}
