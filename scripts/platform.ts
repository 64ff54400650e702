/** `npm run infra:install`: installs the platform of SST, unless it is installed already. */
import { installPlatform } from "../infra/platform.ts";

await installPlatform((line) => console.log(line));
