/** Plays histories of families, and counts in how many of them each cell was met. */
import { simulateFamily } from "./families.ts";
import { FAMILY_CELLS, familyCells } from "./family-cells.ts";
import { wrongInFamily } from "./family-checkers.ts";
import { type FamilyHistory, told } from "./family-history.ts";
import { PLAIN } from "./family-plan.ts";
import { seedName } from "./seeds.ts";

/** One family for so many histories of one run: then a simulation takes about 15 % longer. */
const RUNS_PER_FAMILY = 20;

/** The seeds of the families that belong to so many histories of one run. */
export const familySeeds = (of: {
  readonly seeds: number;
  readonly from: number;
  readonly salt: string | undefined;
}): readonly string[] => {
  const first = Math.ceil(of.from / RUNS_PER_FAMILY);
  const count = Math.ceil((of.from + of.seeds) / RUNS_PER_FAMILY) - first;
  return Array.from({ length: count }, (_, index) => seedName("f", first + index, of.salt));
};

export class FamilyReach {
  readonly #counts = new Map<string, number>();
  histories = 0;

  /** Plays the history of that seed, and adds what it met. Returns it with everything that is wrong with it. */
  async play(
    seed: string,
    isPlain = false,
  ): Promise<{ readonly history: FamilyHistory; readonly violations: readonly string[] }> {
    const history = await simulateFamily(seed, isPlain ? PLAIN : {});
    const all = await told(history);
    this.histories += 1;
    for (const cell of familyCells(history, all)) this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    return { history, violations: await wrongInFamily(history, all) };
  }

  /** Cells that no history met. */
  empty(): readonly string[] {
    return FAMILY_CELLS.filter((cell) => !this.#counts.has(cell));
  }

  lines(): readonly string[] {
    return [
      `families, in how many of ${this.histories} histories:`,
      ...FAMILY_CELLS.map((cell) => `  ${cell.padEnd(56)}${String(this.#counts.get(cell) ?? 0).padStart(7)}`),
    ];
  }
}
