/** Installs Chromium before the browser tests, if this machine has none. */
import { installChromium } from "../../scripts/chromium.ts";

export const setup = (): void => void installChromium();
