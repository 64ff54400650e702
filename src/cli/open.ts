/** Opens a store for a command that only reads, and prints a warning if it is damaged. */
import { type Opened, openEvenDamaged } from "../compose/open.ts";
import type { BeatFlags } from "../compose/surroundings.ts";
import type { Shell } from "./shell.ts";

/**
 * Opens a store for a command that only reads. If the store is damaged or has lost commits, it warns and shows what can
 * still be read.
 */
export const openToRead = (shell: Shell, flags: BeatFlags): Promise<Opened> =>
  openEvenDamaged(shell, flags, ({ message }) =>
    shell.terminal.err(`${shell.terminal.paintErr("red", "warning:")} ${message}`),
  );
