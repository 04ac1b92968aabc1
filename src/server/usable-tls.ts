/**
 * Checks whether a certificate and a private key can serve TLS, and if not, which of the two is at fault. Node accepts an
 * empty text, or a key of another type than the certificate's, without an error; then every handshake fails with no hint.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** The PEM texts; or the names by which a message calls them. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** A usage error. A caller that read the texts from files can get the message with the file names. */
export class UnusableTlsError extends Error {
  override readonly name = 'UnusableTlsError';
  readonly why: (names: TlsPair) => string;

  constructor(why: (names: TlsPair) => string, cause?: unknown) {
    super(`TLS cannot be served: ${why({ cert: 'the certificate text', key: 'the key text' })}.`, { cause });
    this.why = why;
  }
}

const CERTIFICATE = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/;
/** Both PEM notations of an encrypted key. */
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** Returns the certificate that clients get. */
export function assertUsableTls({ cert, key }: TlsPair): X509Certificate {
  const certificate = certificateIn(cert);
  if (!certificate.checkPrivateKey(privateKeyIn(key))) {
    throw new UnusableTlsError(
      (names) => `the private key in ${names.key} does not belong to the first certificate in ${names.cert}`,
    );
  }
  try {
    createSecureContext({ cert, key });
  } catch (fault) {
    const says = (names: TlsPair): string =>
      `${names.cert} and ${names.key} are refused (${reasonOf(fault)})`;
    throw new UnusableTlsError(says, fault);
  }
  return certificate;
}

function certificateIn(cert: string): X509Certificate {
  if (!CERTIFICATE.test(cert))
    throw new UnusableTlsError(({ cert }) => `${cert} holds no certificate in PEM`);
  try {
    return new X509Certificate(cert);
  } catch (fault) {
    throw new UnusableTlsError(
      ({ cert }) => `the certificate in ${cert} is not well formed (${reasonOf(fault)})`,
      fault,
    );
  }
}

function privateKeyIn(key: string): KeyObject {
  if (ENCRYPTED.test(key)) {
    throw new UnusableTlsError(({ key }) => `the private key in ${key} is encrypted; decrypt it first`);
  }
  if (!PRIVATE_KEY.test(key)) throw new UnusableTlsError(({ key }) => `${key} holds no private key in PEM`);
  try {
    return createPrivateKey(key);
  } catch (fault) {
    throw new UnusableTlsError(
      ({ key }) => `the private key in ${key} is not well formed (${reasonOf(fault)})`,
      fault,
    );
  }
}

/** OpenSSL's message, without its error numbers. */
function reasonOf(fault: unknown): string {
  const { reason, message } = Object(fault) as { readonly reason?: unknown; readonly message?: unknown };
  return String(reason ?? message);
}
