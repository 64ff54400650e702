/** Whether a machine reaps orphans, by what becomes of one. */
import { describe, expect, test } from "vitest";
import { INIT_PROCESS, describeNoReaper, findNoReaper } from "../../src/workers/orphans.ts";
import { type SeenProcess, parsedStat } from "../../src/workers/proc.ts";
import { LOCAL_CHECKS, localChecks } from "../../src/compose/worlds/local-checks.ts";

const SELF = 40;
const ORPHAN = 90;

const seen = (pid: number, of: Partial<SeenProcess> = {}): SeenProcess => ({
  ...{ pid, parent: 1, group: pid, name: `p${pid}`, isZombie: false, threads: 1 },
  ...of,
});

/** A machine on which `program` is PID 1. An orphan is a zombie for `looks` looks, and then reaped. */
function machine(of: {
  readonly program?: string;
  readonly self?: number;
  readonly looks?: number;
  readonly zombies?: readonly SeenProcess[];
  readonly parent?: number;
  readonly hasProc?: boolean;
  readonly hasShell?: boolean;
}) {
  const { program = "tini", self = SELF, looks = 0, zombies = [], parent = 1, hasProc = true, hasShell = true } = of;
  let [left, made] = [looks, 0];
  const orphans = (): readonly SeenProcess[] =>
    made > 0 && left > 0 ? [seen(ORPHAN, { parent, isZombie: true })] : [];
  const all = (): readonly SeenProcess[] => [seen(1, { parent: 0 }), seen(self), ...zombies, ...orphans()];
  return {
    made: () => made,
    looking: {
      self,
      processes: () => (hasProc ? all() : null),
      process: (pid: number) => all().find((each) => each.pid === pid) ?? null,
      makeOrphan: async () => {
        if (!hasShell) return null;
        made += 1;
        return ORPHAN;
      },
      pause: async () => {
        if (made > 0) left -= 1;
      },
      programOf: (pid: number) => (pid === 1 ? program : null),
    },
  };
}

describe("a machine", () => {
  test.each(["tini", "docker-init", "systemd", "bash", "s6-svscan"])(
    "that reaps its orphans is fine: PID 1 is %s",
    async (program) => {
      expect(await findNoReaper(machine({ program, looks: 3 }).looking)).toBeNull();
    },
  );

  test.each(["python3", "java", "php-fpm", "deno"])(
    "whose PID 1 is %s, and keeps an orphan, is found",
    async (program) => {
      const found = await findNoReaper(machine({ program, looks: Infinity }).looking);
      expect(found).toEqual({ pid: 1, name: program, isSelf: false, zombies: 1 });
    },
  );

  test.each(["node", "npm", "npx", "pnpm", "yarn"])("whose PID 1 is %s is found at once", async (program) => {
    const { looking, made } = machine({ program });
    expect(await findNoReaper(looking)).toMatchObject({ pid: 1, name: program, isSelf: false });
    expect(made()).toBe(0);
  });

  test("on which the supervisor is PID 1 is found at once, since Node waits for no foreign process", async () => {
    const { looking, made } = machine({ program: "node", self: 1 });
    expect(await findNoReaper(looking)).toMatchObject({ pid: 1, isSelf: true, zombies: 0 });
    expect(made()).toBe(0);
  });

  test("that has old zombies gets no further one", async () => {
    const zombies = [60, 61].map((pid) => seen(pid, { isZombie: true }));
    const { looking, made } = machine({ program: "python3", zombies });
    expect(await findNoReaper(looking)).toMatchObject({ name: "python3", zombies: 2 });
    expect(made()).toBe(0);
  });

  test("whose zombies belong to a living parent is fine, since that parent may still wait for them", async () => {
    const zombies = [seen(60, { parent: 55, isZombie: true })];
    expect(await findNoReaper(machine({ zombies, looks: 1 }).looking)).toBeNull();
  });

  test("on which another process takes the orphans is described by that process", async () => {
    const found = await findNoReaper(machine({ looks: Infinity, parent: SELF }).looking);
    expect(found).toMatchObject({ pid: SELF, name: "p40" });
  });

  test.each([{ hasProc: false }, { hasShell: false }])("that does not say is not judged: %j", async (of) => {
    expect(await findNoReaper(machine(of).looking)).toBe("unseen");
  });

  test("of this test is judged without an error", async () => {
    expect(await findNoReaper()).toSatisfy((found) => found === null || found === "unseen" || found.pid > 0);
  });
});

describe("what is said", () => {
  test("names PID 1, the zombies and what to write", () => {
    const { what, why } = describeNoReaper({ pid: 1, name: "npm", isSelf: false, zombies: 126 });
    expect(what).toBe(
      "no process of this machine or container reaps orphans: PID 1 is npm, which is no init process, with 126 dead processes below it",
    );
    expect(why).toContain("no worker can be started");
    for (const word of ["--init", "init: true", "tini"]) expect(INIT_PROCESS).toContain(word);
  });

  test("is a check of doctor, unless the system shows no processes", () => {
    const check = LOCAL_CHECKS.find(({ id }) => id === "orphans");
    const of = (reaping: never) => ({ reaping }) as never;
    expect(check?.judge(of({ pid: 1, name: "node", isSelf: true, zombies: 0 } as never))).toMatchObject({
      status: "warn",
      why: expect.stringContaining("PID 1 is this process (node)"),
      mend: INIT_PROCESS,
    });
    expect(localChecks(of("unseen" as never)).map(({ id }) => id)).not.toContain("orphans");
    expect(localChecks(of(null as never))).toBe(LOCAL_CHECKS);
  });
});

test("a process whose name holds spaces and brackets is read", () => {
  const stat = "7 (a) b) (c) Z 1 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 3 0 99 0";
  expect(parsedStat(7, stat)).toEqual({ pid: 7, parent: 1, group: 5, name: "a) b) (c", isZombie: true, threads: 3 });
});
