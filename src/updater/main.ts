import { errorText } from "../lib/error-text.ts";
import { PACKAGE_FOLDER, RELEASES_FOLDER } from "../lib/release/paths.ts";
import { ociArchitecture } from "../lib/release/architecture.ts";
import { readDescription } from "../lib/release/description.ts";
import { nodeDisk } from "./disk.ts";
import { Releases } from "./releases.ts";
import { handleRequest } from "./updater.ts";

const ROOT = 0;

const USAGE = `Usage: edge-agent-update COMMAND, as root

  handle     carries out the request in the agent's state directory; started by edge-agent-update.path
  upgraded   has the launcher start the package's version unless a release is newer; started by the package`;

try {
  process.exitCode = await run(process.argv[2]);
} catch (error) {
  console.error(`edge-agent-update: ${errorText(error)}`);
  process.exitCode = 1;
}

async function run(command: string | undefined): Promise<number> {
  switch (command) {
    case "handle": {
      const answer = await handleRequest({
        stateFolder: "/var/lib/edge-agent",
        releasesFolder: RELEASES_FOLDER,
        packageFolder: PACKAGE_FOLDER,
        configFile: "/etc/edge-agent/config.json",
        architecture: ociArchitecture(process.arch),
        owner: ROOT,
        disk: nodeDisk,
      });
      // Into the journal. A refusal is an answer, and no failure of the unit.
      if (answer.ok) console.log(`release ${answer.version}: done`);
      else console.log(`<4>refused: ${answer.code}: ${answer.message}`);
      return 0;
    }
    case "upgraded":
      new Releases(RELEASES_FOLDER, nodeDisk).preferPackage(readDescription(PACKAGE_FOLDER).version);
      return 0;
    case undefined:
    default:
      console.error(USAGE);
      return 2;
  }
}
