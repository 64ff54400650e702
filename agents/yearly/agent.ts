/**
 * A hierarchy that writes the yearly report of a company: the root hands out departments, each department hands out its
 * branches, and each branch closes its books once. Reports are merged level by level, so that the root never reads the
 * branches.
 */
import { check, childTool, defineAgent, defineChaos, hierarchical, tool } from "cairn-run";
import { z } from "zod";
import { act, effectsIn, worldOf } from "../shared/outside.ts";
import { bossModel, branchModel } from "./model.ts";

const department = z.object({ name: z.string(), branches: z.array(z.string()).min(1).max(12) });
const company = z.object({ company: z.string(), departments: z.array(department).min(1).max(6) });
const ofDepartment = department.extend({ company: z.string() });
const ofBranch = z.object({ company: z.string(), branch: z.string() });
const figures = z.object({ name: z.string(), thousands: z.int() });

type Calls = readonly { readonly outcome: string; readonly result: unknown }[];

/** The sum of the figures that were reported. It is counted, not written by a model. */
const sumOf = (calls: Calls): number =>
  calls
    .flatMap(({ outcome, result }) => (outcome === "succeeded" ? [figures.parse(result).thousands] : []))
    .reduce((sum, each) => sum + each, 0);

const merger = { instructions: "You write the report: each name with its figure, in thousands of euros." };

export const yearly = defineAgent({
  name: "yearly",
  version: "1",
  model: bossModel,
  instructions: "You write the yearly report of a company.",
  task: company,
  topology: hierarchical({
    workers: ["report"],
    boss: { instructions: "You hand out departments: one per call, with all of its branches." },
    merger,
    partsIn: "branches",
    fanOut: 6,
    batch: 3,
  }),
  budget: { beats: 400 },

  tools: {
    report: childTool({
      agent: "department",
      description: "Reports the figures of one department.",
      input: ofDepartment,
      output: figures,
      budget: { beats: 60 },
      deadlineMs: 30 * 60_000,
    }),
  },

  done: [
    check<z.output<typeof company>>("names-each-department", ({ text, task }) => {
      const missing = task.departments.filter(({ name }) => !text.includes(name));
      return missing.length === 0 || `the report does not name ${missing.map(({ name }) => name).join(", ")}`;
    }),
  ],
  result: ({ text, calls }) => ({ report: text, thousands: sumOf(calls) }),
});

export const departmentAgent = defineAgent({
  name: "department",
  version: "1",
  model: bossModel,
  instructions: "You report the figures of one department.",
  task: ofDepartment,
  topology: hierarchical({
    workers: ["close"],
    boss: { instructions: "You hand out branches: one per call." },
    merger,
    fanOut: 12,
    batch: 3,
    maxBeats: 60,
  }),
  budget: { beats: 60 },

  tools: {
    close: childTool({
      agent: "branch",
      description: "Closes the books of one branch, and reports its revenue.",
      input: ofBranch,
      output: figures,
      budget: { beats: 4 },
      deadlineMs: 10 * 60_000,
    }),
  },
  result: ({ task, calls }) => ({ name: task.name, thousands: sumOf(calls) }),
});

export const branch = defineAgent({
  name: "branch",
  version: "1",
  model: branchModel,
  instructions: "You close the books of one branch.",
  task: ofBranch,
  budget: { beats: 4 },

  tools: {
    closeBooks: tool({
      description: "Closes the books of a branch for the year. They stay closed.",
      input: ofBranch,
      output: figures,
      effect: "keyed",
      run: ({ input, key }) => {
        act({ tool: "closeBooks", key, of: `${input.branch} of ${input.company}`, what: "closed" });
        return { name: input.branch, thousands: 100 * input.branch.length };
      },
    }),
  },

  done: [
    check("is-closed", ({ calls }) =>
      calls.some(({ tool: name, outcome }) => name === "closeBooks" && outcome === "succeeded"),
    ),
  ],
  result: ({ calls }) => calls.findLast(({ outcome }) => outcome === "succeeded")?.result ?? null,
});

const BRANCHES = ["Rome", "Oslo", "Bern", "Vienna"];

/** For `cairn chaos yearly`: one company per task, with two departments of up to four branches. */
export const chaos = defineChaos({
  input: (task) => ({
    company: `Company ${task}`,
    departments: ["Sales", "Repairs"].map((name) => ({
      name,
      branches: BRANCHES.slice(0, 2 + (task % 3)).map((each) => `${name} ${each}`),
    })),
  }),
  env: (dir) => ({ EXAMPLES: worldOf(dir) }),
  standIns: { "branch.closeBooks": "service" },
  effects: (dir) => effectsIn(worldOf(dir)).map(({ tool: name, key, of }) => ({ tool: name, id: key, of })),
});
