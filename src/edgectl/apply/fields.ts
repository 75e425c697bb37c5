import { appSpecSchema } from "../../protocol/app-spec.ts";
import { appFileUpdates } from "../../protocol/app-files.ts";
import { type AppDocument, fieldsInForce as knownFieldsInForce } from "../../protocol/fields-in-force.ts";
import { describeFiles } from "../deploy/app-files.ts";

export { type AppDocument, entriesOf, KNOWN_FIELDS } from "../../protocol/fields-in-force.ts";

/** Returns the fields of an app that differ from their defaults. Fields that this version does not know are left out. */
export function fieldsInForce(app: AppDocument): AppDocument {
  return knownFieldsInForce(describedFiles(app));
}

/** Files of a request are described as the device reports them. */
function describedFiles(app: AppDocument): AppDocument {
  const requested = appFileUpdates.safeParse(app["files"]);
  return requested.success ? { ...app, files: describeFiles(requested.data) } : app;
}

/** Returns the names of the fields that an app has and this version does not know. */
export function unknownFields(app: AppDocument): string[] {
  return Object.keys(app).filter((field) => !Object.hasOwn(appSpecSchema.shape, field) && app[field] !== null);
}
