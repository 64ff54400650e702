/** What the console sends for an action, and what it says where no answer came, without a browser. */
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/api/document.ts";
import { isUnsure, troubleIn, UNREACHABLE, unsureOf } from "../../src/console/api/problem.ts";
import { describe as described, scheduleAction } from "../../src/console/model/actions.ts";
import type { ConsoleAction } from "../../src/console/model/commands.ts";
import { requestKeys } from "../../src/console/model/request-keys.ts";
import { OFFERED_OF_RUNS } from "./offered-actions.ts";

const names = [...OFFERED_OF_RUNS];

describe("an idempotency key", () => {
  const action: ConsoleAction = { words: [], method: "POST", path: "/runs", body: { agent: "clerk" }, isKeyed: true };

  test("stays with its request until its outcome is known", () => {
    let count = 0;
    const keys = requestKeys(() => `key ${(count += 1)}`);
    expect([keys.keyOf(action), keys.keyOf({ ...action })]).toEqual(["key 1", "key 1"]);
    expect(keys.keyOf({ ...action, body: { agent: "other" } })).toBe("key 2");
    expect(keys.keyOf({ ...action, path: "/runs/a/messages" })).toBe("key 3");
    expect(keys.keyOf(action)).toBe("key 1");
    keys.forget(action);
    expect(keys.keyOf(action)).toBe("key 4");
  });

  test("goes with each action whose route takes one, and with no other", () => {
    const paths = openApiDocument().paths as Readonly<Record<string, { readonly post?: object }>>;
    const takesKey = (path: string): boolean =>
      JSON.stringify(paths[path]?.post ?? {}).includes('"name":"Idempotency-Key"');
    const run = { run: "local-a", version: 3 };
    for (const name of names) {
      const { path, method, isKeyed } = described(name, run).request("1", false);
      const isTaken = method === "POST" && takesKey(path.replace("local-a", "{run}"));
      expect({ name, isKeyed: isKeyed ?? false }).toEqual({ name, isKeyed: isTaken });
    }
    for (const word of ["pause", "resume", "run"] as const) {
      const { path, isKeyed } = scheduleAction("nightly", word);
      expect({ word, isKeyed }).toEqual({ word, isKeyed: takesKey(path.replace("nightly", "{agent}")) });
    }
    expect(names.filter((name) => described(name, run).request("1", false).isKeyed)).toEqual([
      "message",
      "fork",
      "fork",
    ]);
    expect(takesKey("/runs")).toBe(true);
  });
});

describe("an action without an answer", () => {
  const problem = (status: number, code: string) => troubleIn(status, { code, detail: "its own words" });

  test("is unsure unless the server accepted or refused it", () => {
    const gateway = troubleIn(502, null);
    expect([UNREACHABLE, gateway, problem(503, "StoreUnreachable"), problem(500, "Unexpected")].map(isUnsure)).toEqual(
      Array(4).fill(true),
    );
    expect([problem(409, "Late"), problem(401, "TokenExpired"), problem(422, "InputInvalid")].map(isUnsure)).toEqual(
      Array(3).fill(false),
    );
  });

  test("says that it may have happened, and that sending it again is safe only where a key was sent", () => {
    expect(unsureOf(UNREACHABLE, true).detail).toBe(
      "No answer came, and it may have happened. Sending it again is safe: it counts once.",
    );
    expect(unsureOf(problem(503, "StoreUnreachable"), false).detail).toBe(
      "The server answered 503, and it may have happened. Look whether it did before you send it again.",
    );
    expect(unsureOf(troubleIn(504, null), true).detail).toContain("Sending it again is safe");
    expect(unsureOf(problem(503, "RowNewer"), true).detail).toBe("its own words");
  });
});
