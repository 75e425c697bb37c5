import type { DownloadErrorKind, EngineErrorKind, RegistryErrorKind } from "../error-kind.ts";

const SEND_CREDENTIALS =
  "Send the registry's credentials with the request (`registry_auth`; edgectl: --registry-user), or set them for this registry in `registries` of the device's configuration.";
const CORRECT_CREDENTIALS =
  "Check the user name, the password or the token, and that they may read this repository. They come from `registry_auth` of the request, or else from the device (`registries` in its configuration).";
const NAME_AUTHORITY =
  "Set `ca_file` of this registry in `registries` of the device's configuration to the authority that signed its certificate, or `insecure: true` where it has none.";
const PASS_PORTAL =
  "Does the network want a login? Open a page in a browser behind the same link, or have the device's network let the registry through; then deploy again.";
const CHECK_NAME = "Check the name and the tag.";
const HIDDEN_IMAGES = "Some registries answer so to requests without credentials too.";

/**
 * Returns what to do about an image that cannot be pulled; `undefined` where the message says it, or waiting is all.
 *
 * @param hasCredentials whether credentials were sent to the registry; `undefined` if that is not known
 */
export function pullHint(
  kind: EngineErrorKind | RegistryErrorKind | DownloadErrorKind,
  hasCredentials?: boolean,
): string | undefined {
  if (kind === "image_denied") return hasCredentials === false ? SEND_CREDENTIALS : CORRECT_CREDENTIALS;
  if (kind === "registry_untrusted") return NAME_AUTHORITY;
  if (kind === "foreign_answer") return PASS_PORTAL;
  if (kind !== "image_not_found") return undefined;
  return hasCredentials === false ? `${CHECK_NAME} ${HIDDEN_IMAGES}` : CHECK_NAME;
}
