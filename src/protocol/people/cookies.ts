/*
 * Names of the cookies that the service sets in browsers. Over HTTPS they have the prefix `__Host-`. Over HTTP on loopback
 * they are sent to whatever has a port of the same host name, since cookies know no ports.
 */

export const SESSION_COOKIE = "edge_session";
/** Of a browser in which a person has signed in before. */
export const BROWSER_COOKIE = "edge_browser";
/** Of a sign-in at an identity provider that is under way. */
export const OIDC_COOKIE = "edge_oidc";
