import { type AppDocument, fieldsInForce } from "./fields.ts";

/** A field of an app that an update keeps. */
interface KeptField {
  readonly field: string;
  /** Absent for lists and objects. */
  readonly value?: unknown;
}

/** Whether a file describes a whole app rather than a change of one, such as only another image. */
export function isWholeApp(file: AppDocument): boolean {
  return "name" in file || ("image" in file && Object.keys(file).length > 1);
}

/** Returns what an app has and an update does not mention: an update changes the fields it names and keeps all others. */
export function stillInForce(current: AppDocument, update: AppDocument): KeptField[] {
  return Object.entries(fieldsInForce(current))
    .filter(([field]) => !(field in update) && field !== "image")
    .map(([field, value]) => (typeof value === "object" ? { field } : { field, value }));
}
