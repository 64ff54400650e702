/** How a command paints what it shows: by the terminal, and by the time of the place that it reaches. */
import type { Style } from "../render/paint.ts";
import type { Shell } from "./shell.ts";
import type { Transport } from "./transport.ts";

export const styleOf = ({ terminal }: Pick<Shell, "terminal">, { now }: Pick<Transport, "now">): Style => ({
  now: now(),
  paint: terminal.paintOut,
  width: terminal.width,
});
