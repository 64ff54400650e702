/** How many beats of an agent are out at once. */
import { describe, expect, it } from "vitest";
import { createAgentCaps } from "../../src/workers/agent-caps.ts";
import { executionsOf } from "../../src/adapters/local/store/executions.ts";
import { NOW, temporaryStore } from "../process/fixtures/store.ts";

describe("the cap of an agent", () => {
  it("admits as many beats as it says, and another one once a beat is over", () => {
    const caps = createAgentCaps({ clerk: 2 });
    const [first, second] = [caps.take("clerk"), caps.take("clerk")];
    expect([first, second]).not.toContain(null);
    expect(caps.full()).toEqual(["clerk"]);
    expect(caps.take("clerk")).toBeNull();
    first?.();
    // A second call for the same beat frees no other place.
    first?.();
    expect(caps.full()).toEqual([]);
    expect(caps.take("clerk")).not.toBeNull();
    expect(caps.take("clerk")).toBeNull();
  });

  it("holds for no other agent", () => {
    const caps = createAgentCaps({ clerk: 1 });
    caps.take("clerk");
    for (let beats = 0; beats < 100; beats += 1) expect(caps.take("constructor")).not.toBeNull();
    expect(caps.full()).toEqual(["clerk"]);
  });
});

describe("the ready executions without a full agent", () => {
  it("are the beats of other agents, and each task that is no beat", () => {
    const store = temporaryStore();
    const executions = executionsOf(store);
    for (const [run, agent] of Object.entries({ a: "clerk", b: "clerk", c: "guest", d: "clerk", e: "clerk" }))
      executions.start({ name: run, payload: { run, born: "born", chain: 1, epoch: 0, agent }, now: NOW });
    const set = store.rows.prepare("UPDATE executions SET state = ?, stage = ? WHERE name = ?");
    set.run("Wait", "waiting", "b");
    set.run("Backoff", "waiting", "d");
    set.run("Park", "due", "e");
    const namesOf = (without?: readonly string[]) => executions.ready(NOW, 9, without).map(({ name }) => name);
    expect(executions.ready(NOW, 9).filter(({ isBeat }) => isBeat)).toHaveLength(3);
    expect(namesOf()).toEqual(["a", "b", "c", "d", "e"]);
    expect(namesOf(["clerk"])).toEqual(["c", "d", "e"]);
    expect(namesOf(["clerk", "guest"])).toEqual(["d", "e"]);
  });
});
