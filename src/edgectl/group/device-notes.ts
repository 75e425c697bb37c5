import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { AppFile } from "../../protocol/apps/app-files.ts";
import { looksSecret } from "../../protocol/apps/secret-names.ts";
import { DEFAULT_FILES_BYTES } from "../../protocol/limits.ts";
import { contentOf } from "../documents/file-content.ts";
import type { Problems } from "../documents/problems.ts";
import type { WrittenGroup } from "./written-group.ts";

/** Notes what devices refuse, or warn of, as long as their owners have changed nothing. */
export function noteForDevices({ apps }: WrittenGroup, problems: Problems): void {
  let bytes = 0;
  for (const app of apps) {
    const { path, fields } = app;
    for (const file of (fields["files"] ?? []) as AppFile[]) bytes += file.upload?.size ?? contentOf(file).length;
    const variables = (fields["environments"] ?? []) as { key: string; value: string; secret?: boolean }[];
    for (const [index, variable] of variables.entries()) {
      if (variable.secret === true || !looksSecret(variable)) continue;
      problems.note(
        app.placeOf(["environments", index]),
        `${path}: ${variable.key} looks like a secret. With \`x-edge-secrets: [${variable.key}]\` in the service its value is ` +
          "masked, also in the app's log.",
      );
    }
  }
  if (bytes <= DEFAULT_FILES_BYTES) return;
  problems.note(
    { line: 1, column: 1 },
    `The files that come with the apps have ${formatBytes(bytes)} (${bytes} bytes), and a device takes ` +
      `${DEFAULT_FILES_BYTES} bytes, unless \`policy.max_files_bytes\` in its configuration is higher.`,
  );
}
