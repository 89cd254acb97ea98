// Package buckets proves that Ebb reclaims a registry in a bucket: the round
// trip from push to pull with real servers, the number of requests, a fault at
// every single request, listings that lie, and what a person is told of a
// bucket that can not be used.
//
// Its tests work on a real S3 server where what it does matters, and on a fake
// where requests are counted and broken. It has no code beside them.
package buckets
