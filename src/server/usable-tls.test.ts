// What TLS cannot be served with, and how that is said. The certificate is that of the tests.
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TEST_CERTIFICATE, TEST_KEY } from '../../test/support/test-certificate.ts';
import { assertUsableTls, UnusableTlsError } from './usable-tls.ts';

const NAMES = { cert: 'cert.pem', key: 'key.pem' };
const RUBBISH = 'no certificate at all\n';
const PUBLIC = { type: 'spki', format: 'pem' } as const;
const PRIVATE = { type: 'pkcs8', format: 'pem' } as const;
const P256 = { namedCurve: 'P-256', publicKeyEncoding: PUBLIC } as const;

const OTHER = generateKeyPairSync('ec', { ...P256, privateKeyEncoding: PRIVATE });
const ENCRYPTED = generateKeyPairSync('ec', {
  ...P256,
  privateKeyEncoding: { ...PRIVATE, cipher: 'aes-128-cbc', passphrase: 'secret' },
});
const ENCRYPTED_AS_OF_OLD = generateKeyPairSync('ec', {
  ...P256,
  privateKeyEncoding: { type: 'sec1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'secret' },
});
const RSA = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: PUBLIC,
  privateKeyEncoding: PRIVATE,
});

const emptied = (pem: string): string => pem.replace(/(-----\n)[^-]+(-----END)/, '$1AAAA\n$2');

function fault(cert: string, key: string): string {
  try {
    assertUsableTls({ cert, key });
  } catch (error) {
    if (error instanceof UnusableTlsError) return error.why(NAMES);
    throw error;
  }
  return 'nothing';
}

const NOT_ITS_KEY = 'the private key in key.pem does not belong to the first certificate in cert.pem';

describe('a certificate and its key', () => {
  it.each([
    ['as they are', TEST_CERTIFICATE, TEST_KEY],
    ['in one text', TEST_KEY + TEST_CERTIFICATE, TEST_KEY + TEST_CERTIFICATE],
    ['with the lines of another system', TEST_CERTIFICATE.replaceAll('\n', '\r\n'), TEST_KEY],
    ['with words before them', `localhost\n${TEST_CERTIFICATE}`, `mine\n${TEST_KEY}`],
  ])('%s are fine', (_, cert, key) => {
    expect(fault(cert, key)).toBe('nothing');
  });
});

describe('TLS is refused, with what is wrong and where,', () => {
  it.each([
    ['a certificate that is none', RUBBISH, TEST_KEY, 'cert.pem holds no certificate in PEM'],
    ['an empty certificate', '', TEST_KEY, 'cert.pem holds no certificate in PEM'],
    ['a key that is none', TEST_CERTIFICATE, RUBBISH, 'key.pem holds no private key in PEM'],
    ['an empty key', TEST_CERTIFICATE, '', 'key.pem holds no private key in PEM'],
    ['a public key', TEST_CERTIFICATE, OTHER.publicKey, 'key.pem holds no private key in PEM'],
    ['the two in each other’s place', TEST_KEY, TEST_CERTIFICATE, 'cert.pem holds no certificate in PEM'],
    ['the key of another certificate', TEST_CERTIFICATE, OTHER.privateKey, NOT_ITS_KEY],
    ['a key of another kind', TEST_CERTIFICATE, RSA.privateKey, NOT_ITS_KEY],
    [
      'an encrypted key',
      TEST_CERTIFICATE,
      ENCRYPTED.privateKey,
      'the private key in key.pem is encrypted; decrypt it first',
    ],
    [
      'an encrypted key of the older kind',
      TEST_CERTIFICATE,
      ENCRYPTED_AS_OF_OLD.privateKey,
      'the private key in key.pem is encrypted; decrypt it first',
    ],
  ])('for %s', (_, cert, key, says) => {
    expect(fault(cert, key)).toBe(says);
  });

  it('for PEM whose inside is none, in the words of OpenSSL', () => {
    const certificate = fault(emptied(TEST_CERTIFICATE), TEST_KEY);
    expect(certificate).toMatch(/^the certificate in cert\.pem is not well formed \([a-z ]+\)$/);
    const key = fault(TEST_CERTIFICATE, emptied(TEST_KEY));
    expect(key).toMatch(/^the private key in key\.pem is not well formed \(.+\)$/);
    const chain = fault(TEST_CERTIFICATE + emptied(TEST_CERTIFICATE), TEST_KEY);
    expect(chain).toMatch(/^cert\.pem and key\.pem are refused \([a-z ]+\)$/);
  });

  it('in a sentence of its own where there are no files', () => {
    expect(() => assertUsableTls({ cert: TEST_CERTIFICATE, key: '' })).toThrow(
      /^TLS cannot be served: the key text holds no private key in PEM\.$/,
    );
  });
});
