/** The version of leasehold. A test holds it to package.json, which a bundled command line could not read. */
export const VERSION = '0.1.0';
