/**
 * The reach table: what a set of histories met, in cells. Operations by faults, phases by what struck a process in
 * them, what the chain, the people and the outside did, and each schedule by its witness. A cell that stays empty is
 * something that nobody has tried; the table names it.
 */
import { PHASE_NAMES } from "../../src/core/phases.ts";
import { STARTED_TWICE } from "./dispatch.ts";
import type { Simulated } from "./history.ts";
import { JUMP_CELLS } from "./clock-jumps.ts";
import { MODES } from "./modes.ts";
import { MEETS } from "./network.ts";
import { ENDING_CELLS, MODEL_OUTAGE_CELLS, endingCells, modelOutageCells } from "./provider.ts";
import { FAULT_KINDS } from "./record.ts";
import { REDRIVE_CELLS, redriveCells } from "./redrives.ts";
import { replay } from "./replay.ts";
import { STORES } from "./sim.ts";
import { FEATURE_CELLS, featureCells } from "./features/table.ts";
import { sagaCells } from "./saga-cells.ts";
import { TOPOLOGY_CELLS, topologyCells } from "./topology-cells.ts";
import { observeHistory } from "./observed-history.ts";
import { WITNESSES } from "./witnesses.ts";

interface Cell {
  count: number;
  /** The seed of the first history that reached it. */
  first: string;
}

/** What may strike a process in any phase of its run. */
const PROCESS_FAULTS = [
  ...["kill", "freeze", "presume dead", "freeze and presume dead"],
  ...["crash before", "crash after", "unavailable"],
];

/** What the chain and whole processes met. */
const CHAIN = [
  ...["process kill", "process freeze", "process presume dead", "process freeze and presume dead"],
  ...["task beat sent twice", "task park sent twice", "task rescue sent twice", STARTED_TWICE],
  ...["chain beat out of attempts", "chain park out of attempts", "chain rescue out of attempts"],
  ...["two sweepers", "sweep died"],
];

const OUTAGES = STORES.flatMap((store) =>
  ["unavailable", "unheard", "throttled"].map((flavour) => `outage of ${store} ${flavour}`),
);

const OPERATOR_CELLS = [
  ...["delivered", "duplicate", "late", "unheard"].map((outcome) => `steer send ${outcome}`),
  ...["cancel", "pause", "resume"].flatMap((want) =>
    ["requested", "late", "unheard"].map((outcome) => `steer ${want} ${outcome}`),
  ),
  ...["accepted", "duplicate", "stale", "tooEarly"].map((outcome) => `answer retry ${outcome}`),
  ...["accepted", "duplicate", "stale", "tooEarly"].map((outcome) => `answer failed ${outcome}`),
  ...["accepted", "duplicate", "stale"].map((outcome) => `answer succeeded ${outcome}`),
];

const UPGRADES = [
  ...["deploys follow", "deploys pin"],
  ...["accepted", "duplicate", "stale", "late"].map((outcome) => `upgrade ${outcome}`),
];

const DECISIONS = [
  ...["approve", "deny", "edit"].flatMap((as) =>
    ["accepted", "duplicate", "noEffect"].map((outcome) => `decision ${as} ${outcome}`),
  ),
  "decision approve stale",
];

const SAGAS = [
  ...["undone", "begins again", "begins again twice", "left by its agent", "left by a person"].map(
    (what) => `saga ${what}`,
  ),
  ...["by a policy", "by a person", "by a cancel", "by a restart"].map((who) => `saga wanted ${who}`),
  ...["undo accepted", "undo duplicate", "restart accepted", "restart late"].map((what) => `steer ${what}`),
  ...["accepted", "duplicate", "stale"].map((outcome) => `answer compensate ${outcome}`),
];

const ENDS = ["Completed", "Cancelled", "Failed CrashLoop", "Failed BudgetExhausted", "Failed Runaway"];

const OPERATIONS = Object.entries(MEETS).filter(([, faults]) => faults.length > 0);
const SCHEDULES = Object.keys(WITNESSES).map((number) => `schedule ${number}`);

/** Only runs of families wait for children; a cell of theirs is the kill of a boss with eight children out. */
const PHASES = PHASE_NAMES.filter((phase) => phase !== "AwaitingChildren");

/** Every cell that histories have to fill. */
export const CELLS: readonly string[] = [
  ...OPERATIONS.flatMap(([operation, faults]) => faults.map((fault) => `${operation} ${fault}`)),
  ...PHASES.flatMap((phase) => PROCESS_FAULTS.map((what) => `phase ${phase} ${what}`)),
  ...CHAIN,
  ...OUTAGES,
  ...OPERATOR_CELLS,
  ...DECISIONS,
  ...UPGRADES,
  ...SAGAS,
  ...TOPOLOGY_CELLS,
  ...MODEL_OUTAGE_CELLS,
  ...ENDING_CELLS,
  ...JUMP_CELLS,
  ...REDRIVE_CELLS,
  ...FEATURE_CELLS,
  ...ENDS.map((end) => `ends ${end}`),
  ...Object.keys(MODES).map((mode) => `mode ${mode}`),
  ...SCHEDULES,
];

export class Reach {
  readonly #cells = new Map<string, Cell>();
  histories = 0;
  faults = 0;
  /** The longest way from the last fault to the end, by the true time and in steps. */
  endedWithin = { ms: 0, steps: 0 };

  add(history: Simulated): void {
    this.histories += 1;
    this.faults += history.faults;
    const { calm, ended, plan, seed } = history;
    if (ended === null) return;
    if (calm !== null) {
      const { ms, steps } = this.endedWithin;
      this.endedWithin = { ms: Math.max(ms, ended.at - calm.at), steps: Math.max(steps, ended.step - calm.step) };
    }
    const { phase, failure } = replay(history).state;
    const seen = observeHistory(history);
    const witnessed = Object.entries(WITNESSES).filter(([, saw]) => saw(seen));
    const reached = [
      ...history.reached,
      ...sagaCells(seen),
      ...topologyCells(seen),
      ...modelOutageCells(seen),
      ...endingCells(seen),
      ...redriveCells(seen),
      ...featureCells(seen),
      `mode ${plan.mode.name}`,
      `ends ${phase}${failure === null ? "" : ` ${failure.code}`}`,
      ...witnessed.map(([number]) => `schedule ${number}`),
    ];
    for (const name of reached) {
      const cell = this.#cells.get(name) ?? { count: 0, first: seed };
      cell.count += 1;
      this.#cells.set(name, cell);
    }
  }

  count(name: string): number {
    return this.#cells.get(name)?.count ?? 0;
  }

  /** What nobody has tried. */
  empty(wanted: readonly string[] = CELLS): readonly string[] {
    return wanted.filter((name) => this.count(name) === 0);
  }

  /** The table in lines: in how many histories, and for the chain, people and schedules the first of them. */
  lines(): readonly string[] {
    const rest = [
      ...CHAIN,
      ...OUTAGES,
      ...OPERATOR_CELLS,
      ...DECISIONS,
      ...UPGRADES,
      ...SAGAS,
      ...TOPOLOGY_CELLS,
      ...FEATURE_CELLS,
      ...ENDS.map((end) => `ends ${end}`),
      ...SCHEDULES,
    ];
    return [
      `operations by faults, in how many of ${this.histories} histories:`,
      ...this.#grid({ columns: FAULT_KINDS, rows: OPERATIONS.map(([operation]) => [operation, operation]) }),
      "",
      "phases by what struck a process in them:",
      ...this.#grid({ columns: PROCESS_FAULTS, rows: PHASES.map((phase) => [phase, `phase ${phase}`]) }),
      "",
      ...rest.map((name) => {
        const first = this.#cells.get(name)?.first;
        return `  ${name.padEnd(34)}${String(this.count(name)).padStart(7)}${first === undefined ? "" : `  ${first}`}`;
      }),
    ];
  }

  #grid(of: { readonly columns: readonly string[]; readonly rows: readonly (readonly [string, string])[] }): string[] {
    const widths = of.columns.map((column) => Math.max(7, column.length + 1));
    const line = (head: string, cells: readonly string[]): string =>
      `  ${head.padEnd(20)}${cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join("")}`;
    return [
      line("", of.columns),
      ...of.rows.map(([head, prefix]) =>
        line(
          head,
          of.columns.map((column) => {
            const name = `${prefix} ${column}`;
            return CELLS.includes(name) ? String(this.count(name)) : "·";
          }),
        ),
      ),
    ];
  }
}
