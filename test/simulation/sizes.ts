/** The stored sizes of a simulated world: half of them store a snapshot at each release, the others leave journals. */
import { EACH_BEAT, FEW_BYTES, type StoredSizes } from "../../src/ports/stored-sizes.ts";
import type { SeededChoices } from "./seeded-choices.ts";

/** Short journals, so that a history also comes to a snapshot because its journal is full. */
export const sizesOf = (chance: SeededChoices): StoredSizes =>
  chance.below(2) === 0 ? EACH_BEAT : { ...FEW_BYTES, journalCommitsMax: 1 + chance.below(12) };
