declare module "proxy-from-env" {
  /** The proxy for an address by the environment's `*_proxy` variables; empty for none. */
  export function getProxyForUrl(url: string | URL): string;
}
