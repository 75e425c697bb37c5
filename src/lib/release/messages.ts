import { Fields } from "./fields.ts";

/** What the agent, or a person on the device, asks of the updater. */
export type UpdateRequest =
  | {
      readonly id: string;
      readonly action: "install";
      /** Whether the version may be older than the one that runs. */
      readonly downgrade: boolean;
      /** Whether a version that was set aside is tried again. */
      readonly again: boolean;
      /** The control plane's deployment that asks; absent for a person. */
      readonly deployment?: string;
    }
  /** The version on trial works; or it is not wanted any more, and the device goes back. */
  | { readonly id: string; readonly action: "confirm" | "abandon"; readonly version: string };

/** What became of a request. The code is that of a `ReleaseError`, perhaps of another version. */
export type UpdateAnswer =
  | { readonly id: string; readonly ok: true; readonly version: string }
  | { readonly id: string; readonly ok: false; readonly code: string; readonly message: string };

const ID = /^[0-9a-f]{1,32}$/;
/** Root writes it into a line of a file. */
const DEPLOYMENT = /^[\w-]{1,64}$/;

/** @throws {ReleaseError} of code `malformed` */
export function parseRequest(json: Uint8Array): UpdateRequest {
  const fields = Fields.parse("the request", json);
  const id = fields.text("id", ID);
  const action = fields.text("action", /^(?:install|confirm|abandon)$/);
  if (action === "confirm" || action === "abandon") return { id, action, version: fields.version("version") };
  return {
    id,
    action: "install",
    downgrade: fields.flag("downgrade"),
    again: fields.flag("again"),
    ...(fields.has("deployment") && { deployment: fields.text("deployment", DEPLOYMENT) }),
  };
}

/** @throws {ReleaseError} of code `malformed` */
export function parseAnswer(json: Uint8Array): UpdateAnswer {
  const fields = Fields.parse("the answer", json);
  const id = fields.text("id", /^[0-9a-f]{0,32}$/);
  if (fields.flag("ok")) return { id, ok: true, version: fields.version("version") };
  return { id, ok: false, code: fields.text("code"), message: fields.text("message") };
}
