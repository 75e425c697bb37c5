import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { ErrorDetails } from "../../../protocol/errors/errors.ts";
import { namedVolumesOf } from "../../../protocol/apps/volume-fields.ts";

/** Names listed in a message; the rest is counted. */
const MAX_NAMES = 10;

/** Says which volumes stay when an app is removed, and how to free them; `undefined` if it has none. */
export function keptVolumes(spec: AppSpec): { readonly text: string; readonly details: ErrorDetails } | undefined {
  const names = [...new Set(namedVolumesOf(spec).map(({ name }) => name))];
  if (names.length === 0) return undefined;
  const more = names.length - MAX_NAMES;
  const listed = names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const subject = names.length === 1 ? `volume ${listed}` : `volumes ${listed}`;
  return {
    text: `Its data stays in the ${subject}, until \`edgectl volumes remove\` deletes it.`,
    details: { kept_volumes: names.slice(0, MAX_NAMES), ...(more > 0 && { kept_volumes_left_out: more }) },
  };
}
