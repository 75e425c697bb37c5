import type { RegistryLogin } from "./login.ts";
import type { RegistryResponse } from "./http.ts";

/** The repository to access and the credentials to use. */
export interface RegistryAccess {
  /** The registry's name in references, or its host. */
  readonly registry: string;
  /** Absent for a request to the registry itself. */
  readonly repository?: string | undefined;
  readonly login: RegistryLogin | undefined;
  /** Default: `pull`. */
  readonly action?: "pull" | "push";
}

/** What a registry, or a server it named, did that this client does not accept. */
export type RegistryProblem =
  /** The registry refuses the token of the credentials, which is sent as it is. */
  | { readonly kind: "token_refused"; readonly access: RegistryAccess }
  /** The registry wants a user name and a password, and the credentials are none or of another kind. */
  | { readonly kind: "password_required"; readonly access: RegistryAccess }
  | { readonly kind: "unknown_schemes"; readonly access: RegistryAccess; readonly offered: string }
  | { readonly kind: "token_server_invalid"; readonly access: RegistryAccess }
  | { readonly kind: "token_server_without_tls"; readonly access: RegistryAccess; readonly host: string }
  /** The credentials are not sent to a server of another owner. */
  | { readonly kind: "token_server_foreign"; readonly access: RegistryAccess; readonly host: string }
  | {
      readonly kind: "token_denied";
      readonly access: RegistryAccess;
      readonly host: string;
      readonly status: number;
    }
  | { readonly kind: "no_token"; readonly access: RegistryAccess; readonly host: string }
  | { readonly kind: "redirect_not_http"; readonly host: string }
  | { readonly kind: "redirect_without_tls"; readonly host: string; readonly target: string }
  | { readonly kind: "too_many_redirects"; readonly host: string; readonly max: number }
  /** A portal, a proxy or an error page responded. */
  | ForeignAnswer;

export interface ForeignAnswer {
  readonly kind: "foreign_answer";
  readonly host: string;
  readonly reason: string;
  /** Bytes of the body that have arrived. */
  readonly receivedBytes: number;
}

/** Makes a program's own errors. None of them contains credentials. */
export interface RegistryErrors {
  problem(problem: RegistryProblem): Error;
  /** Converts an error of the connection, or a `BodyTooLongError`. */
  transfer(error: unknown, host: string): Error;
  /** Converts a response with an unexpected status. Reads or destroys its body. */
  response(response: RegistryResponse, access: RegistryAccess): Promise<Error>;
}
