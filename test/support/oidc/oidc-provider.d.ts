/** The part of the package that the tests use; it has no types of its own. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    Grant: new (properties: { readonly accountId: string; readonly clientId: string }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
  }
  export default Provider;
}
