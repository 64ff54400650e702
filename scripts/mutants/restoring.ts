/** A store that was restored from a backup. */
import { type Mutant, off } from "./mutant.ts";

export const RESTORING: readonly Mutant[] = [
  off(109, "a restored run gets the epoch that follows its own", {
    file: "src/operations/restored.ts",
    from: "epochs: RESTORED_EPOCHS",
    to: "epochs: 1",
  }),
];
