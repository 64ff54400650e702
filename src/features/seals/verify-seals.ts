/** Checks the keyed seals of a run's snapshots and journal, newest first: the part of `verify` that detects forgery. */
import { sealOfJournal } from "../../codec/journal.ts";
import { type Snapshot } from "../../codec/snapshot.ts";
import type { SealedBy } from "../../codec/voucher.ts";
import type { World } from "../../ports/world.ts";
import type { Inspection } from "./inspection.ts";
import { judgeSeal } from "../../history/vouch.ts";

/**
 * `sealed`: a process with the key wrote everything from version `from` on. `unjudged`: seals exist, but this process
 * lacks a key to check them. `unsealed`: digests detect damage only, and a process that can write the store could forge
 * the run.
 */
export interface SealVerdict {
  readonly is: "sealed" | "unsealed" | "forged" | "unjudged";
  readonly from: number | null;
  /** The IDs of the keys that the seals name. */
  readonly keys: readonly string[];
}

/** Collects the verdict about all seals of one run. */
export class SealInspection {
  readonly #world: World;
  readonly #inspection: Inspection;
  readonly #keys = new Set<string>();
  #from: number | null = null;
  /** The oldest unsealed snapshot so far. */
  #unsealed: number | null = null;
  #isNewestSealed: boolean | null = null;
  #isForged = false;
  #isUnjudged = false;

  constructor(world: World, inspection: Inspection) {
    this.#world = world;
    this.#inspection = inspection;
  }

  get verdict(): SealVerdict {
    const [from, keys] = [this.#from, [...this.#keys]];
    if (this.#isForged) return { is: "forged", from, keys };
    if (from === null) return { is: "unsealed", from, keys };
    return { is: this.#isUnjudged ? "unjudged" : "sealed", from, keys };
  }

  /** Checks one snapshot; call it with the newest first. */
  async snapshot({ version, sealedBy }: Pick<Snapshot, "version" | "sealedBy">): Promise<void> {
    const where = `snapshot ${version}`;
    this.#isNewestSealed ??= sealedBy !== undefined;
    if (sealedBy === undefined) {
      this.#unsealed = version;
      if (this.#world.sealKeys.mode === "required")
        this.#forged(where, "it has no seal, and this process requires one");
      return;
    }
    if (this.#unsealed !== null)
      this.#forged(`snapshot ${this.#unsealed}`, `it has no seal, and snapshot ${version} has one`);
    this.#unsealed = null;
    this.#from = version;
    await this.#judge(where, sealedBy);
  }

  /** Checks the journal; call it after the snapshots, and only if the journal can be decoded. */
  async journal(): Promise<void> {
    const { row } = this.#inspection;
    if (row.journal === null) return;
    const seal = sealOfJournal({ ...row, journal: row.journal });
    if (seal !== null) await this.#judge("the journal", seal);
    else if (this.#isNewestSealed)
      this.#forged("the journal", "it has no seal, and the snapshot that it follows has one");
  }

  async #judge(where: string, sealedBy: SealedBy): Promise<void> {
    const { key } = sealedBy.voucher;
    this.#keys.add(key);
    const judged = await judgeSeal(this.#world, sealedBy);
    if (judged === "forged") this.#forged(where, `it was not written with key ${key}, which its seal names`);
    if (judged !== "unknown key") return;
    // With keys, a process cannot distinguish a key that it lacks from a key that a forger invented.
    const isNew = !this.#isUnjudged && this.#world.sealKeys.mode !== "off";
    this.#isUnjudged = true;
    if (isNew) this.#inspection.found(where, `it is sealed with key ${key}, which this process does not have`);
  }

  #forged(where: string, what: string): void {
    this.#isForged = true;
    this.#inspection.found(where, what);
  }
}
